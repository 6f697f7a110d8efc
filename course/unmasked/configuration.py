"""The configuration of an encoder: its sizes and choices, and the refusal of what `unmasked.encoder` cannot do."""

from dataclasses import dataclass, fields
from functools import partial

import torch
import torch.nn.functional as F

_gelu_tanh = partial(F.gelu, approximate="tanh")
# transformers' names. Google's BERT computes GELU by the tanh approximation, transformers' "gelu" by erf.
ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": _gelu_tanh,
    "gelu_pytorch_tanh": _gelu_tanh,
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
}

# Fields of config.json that change what a model computes, with the one value that is computed here.
_ONLY_VALUE = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "pruned_heads": {},
    "quantization_config": None,
}


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes and choices of an encoder; names and defaults (BERT-base) as in transformers' BertConfig.

    Raises:
        ValueError: a value is not supported, or two do not go together.
    """

    model_type: str = "bert"
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    tie_word_embeddings: bool = True

    def __post_init__(self):
        if self.model_type not in ("bert", "roberta"):
            raise ValueError(f"model_type={self.model_type!r} is not supported: use 'bert' or 'roberta'")
        if self.hidden_act not in ACTIVATIONS:
            raise ValueError(f"hidden_act={self.hidden_act!r} is not supported: use one of {list(ACTIVATIONS)}")
        if self.hidden_size % self.num_attention_heads != 0:
            heads = f"num_attention_heads={self.num_attention_heads}"
            raise ValueError(f"hidden_size={self.hidden_size} is not a multiple of {heads}")

    @classmethod
    def from_dict(cls, config: dict) -> "EncoderConfig":
        """From the content of a config.json. Fields that do not change the numbers are ignored.

        Raises:
            ValueError: a field that does change them has a value that is not supported; it names both.
        """
        config = {"pad_token_id": 1 if config.get("model_type") == "roberta" else 0, **config}
        result = cls(**{field.name: config[field.name] for field in fields(cls) if field.name in config})
        for name, only in {**_ONLY_VALUE, "embedding_size": result.hidden_size}.items():
            if config.get(name, only) != only:
                raise ValueError(f"{name}={config[name]!r} is not supported: it must be {only!r}")
        return result

    @property
    def first_position(self) -> int:
        """The row of the position table for the first token: in RoBERTa the one behind the padding's."""
        return self.pad_token_id + 1 if self.model_type == "roberta" else 0

    @property
    def max_length(self) -> int:
        """The longest sequence in tokens: 512 for RoBERTa-base too, whose position table has 514 rows."""
        return self.max_position_embeddings - self.first_position
