"""The encoder against transformers, stage by stage; then configuration, inputs, and what `causal` changes."""

from dataclasses import asdict
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import BertConfig, BertModel, RobertaConfig
from unmasked import checkpoints
from unmasked.encoder import Encoder, EncoderConfig, EncoderForMaskedLM, EncoderForPreTraining

TOLERANCE = {"atol": 1e-5, "rtol": 0}


def assert_same_stages(ours, theirs):
    """`ours` an EncoderOutput, `theirs` what transformers returns, both with hidden states and attentions."""
    assert len(ours.hidden_states) == len(theirs.hidden_states)
    assert len(ours.attentions) == len(theirs.attentions) == len(ours.hidden_states) - 1
    for stage, (got, wanted) in enumerate(zip(ours.hidden_states, theirs.hidden_states, strict=True)):
        assert_close(got, wanted, **TOLERANCE, msg=lambda text, stage=stage: f"stage {stage}: {text}")
    for got, wanted in zip(ours.attentions, theirs.attentions, strict=True):
        assert_close(got, wanted, **TOLERANCE)
    assert torch.equal(ours.last_hidden_state, ours.hidden_states[-1])


def types_for(config, input_ids):
    return torch.arange(input_ids.numel()).view_as(input_ids) // 3 % config.type_vocab_size


def stage_by_stage(theirs, ours, inputs):
    """Both outputs with all that is in between, attention computed the explicit way."""
    return run(theirs, ours, inputs, "eager", {"output_hidden_states": True, "output_attentions": True})


def fused(theirs, ours, inputs):
    """Both outputs, attention computed by PyTorch's fused kernel, which rounds in another order."""
    return run(theirs, ours, inputs, "sdpa", {})


def run(theirs, ours, inputs, implementation, options):
    theirs.set_attn_implementation(implementation)
    with torch.no_grad():
        return theirs(**inputs, **options), ours(**inputs, **options)


# Equality with transformers


@pytest.fixture(scope="module")
def minilm():
    """The real weights that are installed with the course: in transformers, and here."""
    folder = checkpoints.find("all-MiniLM-L6-v2")
    theirs = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    return theirs, Encoder.from_pretrained(folder)


@pytest.mark.parametrize("with_types", [True, False])
@pytest.mark.parametrize(
    ("batch", "time", "padding"),
    [(1, 1, None), (7, 17, None), (7, 17, "left"), (7, 17, "right"), (1, 512, "right"), (2, 512, "left")],
)
def test_real_weights_give_the_numbers_of_transformers(minilm, make_batch, batch, time, padding, with_types):
    theirs, ours = minilm
    inputs = make_batch(theirs.config, batch, time, padding)
    if with_types:
        inputs["token_type_ids"] = types_for(theirs.config, inputs["input_ids"])
    wanted, got = stage_by_stage(theirs, ours, inputs)
    assert_same_stages(got, wanted)
    assert_close(got.pooler_output, wanted.pooler_output, **TOLERANCE)
    wanted, got = fused(theirs, ours, inputs)
    assert_close(got.last_hidden_state, wanted.last_hidden_state, **TOLERANCE)
    assert_close(got.pooler_output, wanted.pooler_output, **TOLERANCE)
    assert got.hidden_states is got.attentions is None


def test_in_float64_both_ways_give_the_numbers_of_transformers_to_ten_digits(make_batch):
    """In float32 the way of adding up shows; here nothing but a difference in the mathematics could."""
    folder = checkpoints.find("all-MiniLM-L6-v2")
    theirs = BertModel.from_pretrained(folder, attn_implementation="eager").eval().double()
    ours = Encoder.from_pretrained(folder).double()
    inputs = make_batch(theirs.config, 3, 17, "left")
    wanted, explicit = stage_by_stage(theirs, ours, inputs)
    for got in (explicit, ours(**inputs)):
        assert_close(got.last_hidden_state, wanted.last_hidden_state, atol=1e-10, rtol=0)
        assert_close(got.pooler_output, wanted.pooler_output, atol=1e-10, rtol=0)


@pytest.fixture(scope="module")
def pretraining_pair(reference, tmp_path_factory):
    """Tiny random models with all heads, in transformers and here, by model type."""
    pairs = {}
    classes = {"BertForPreTraining": EncoderForPreTraining, "RobertaForMaskedLM": EncoderForMaskedLM}
    for class_name, our_class in classes.items():
        theirs = reference(class_name)
        folder = tmp_path_factory.mktemp(class_name)
        theirs.save_pretrained(folder)
        pairs[theirs.config.model_type] = theirs, our_class.from_pretrained(folder)
    return pairs


@pytest.mark.parametrize("with_types", [True, False])
@pytest.mark.parametrize("padding", [None, "left", "right"])
@pytest.mark.parametrize("time", [1, 17, 512])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_every_stage_and_head_equals_transformers(
    pretraining_pair, make_batch, model_type, batch, time, padding, with_types
):
    theirs, ours = pretraining_pair[model_type]
    inputs = make_batch(theirs.config, batch, time, padding)
    if with_types:
        inputs["token_type_ids"] = types_for(theirs.config, inputs["input_ids"])
    wanted, got = stage_by_stage(theirs, ours, inputs)
    assert wanted.hidden_states[-1].std() > 0.5  # large enough for the tolerance to mean something
    assert_same_stages(got.encoder, wanted)
    logits = ("prediction_logits", "seq_relationship_logits") if model_type == "bert" else ("logits",)
    for name in logits:
        assert_close(getattr(got, name), wanted[name], **TOLERANCE)
    wanted, got = fused(theirs, ours, inputs)
    for name in logits:
        assert_close(getattr(got, name), wanted[name], **TOLERANCE)


@pytest.mark.parametrize("hidden_act", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "tanh"])
@pytest.mark.parametrize("class_name", ["BertForMaskedLM", "RobertaForMaskedLM"])
def test_every_activation_equals_transformers_in_blocks_and_head(saved, make_batch, class_name, hidden_act):
    theirs, folder = saved(class_name, hidden_act=hidden_act)
    inputs = make_batch(theirs.config, 2, 9, "right")
    with torch.no_grad():
        assert_close(EncoderForMaskedLM.from_pretrained(folder)(**inputs).logits, theirs(**inputs).logits, **TOLERANCE)


@pytest.mark.parametrize("output_attentions", [False, True])
@pytest.mark.parametrize("padding", [None, "left", "right"])
@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_gradients_equal_transformers(pretraining_pair, make_batch, model_type, padding, output_attentions):
    theirs, ours = pretraining_pair[model_type]
    theirs.set_attn_implementation("eager" if output_attentions else "sdpa")
    inputs = make_batch(theirs.config, 3, 17, padding)
    factor = torch.randn(3, 17, theirs.config.vocab_size, generator=torch.Generator().manual_seed(0))
    for model, options in ((theirs, {}), (ours, {"output_attentions": output_attentions})):
        model.zero_grad()
        output = model(**inputs, **options)
        if model_type == "bert":
            (output.prediction_logits * factor).mean().add(output.seq_relationship_logits.std()).backward()
        else:
            (output.logits * factor).mean().backward()

    their_gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    wanted = checkpoints._rename(their_gradients, model_type)
    got = {name: parameter.grad for name, parameter in ours.named_parameters()}
    assert got.keys() == wanted.keys()
    for name in got:
        # The key's bias shifts all scores of a row alike, so its gradient is zero but for rounding.
        scale = 1 if name.endswith("key.bias") else wanted[name].abs().max().item()
        assert scale > 0
        difference = (got[name] - wanted[name]).abs().max().item()
        assert difference < 1e-4 * scale, name


@pytest.mark.parametrize(("implementation", "explicit"), [("eager", True), ("sdpa", False)])
@pytest.mark.parametrize("class_name", ["BertModel", "RobertaModel"])
def test_dropout_falls_where_it_falls_in_transformers(saved, make_batch, class_name, implementation, explicit):
    theirs, folder = saved(class_name, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
    theirs.set_attn_implementation(implementation)
    inputs = make_batch(theirs.config, 2, 9, "right")
    ours = Encoder.from_pretrained(folder)
    torch.manual_seed(5)
    wanted = theirs.train()(**inputs).last_hidden_state
    torch.manual_seed(5)
    got = ours.train()(**inputs, output_attentions=explicit).last_hidden_state
    assert_close(got, wanted, **TOLERANCE)


def test_causal_equals_transformers_decoder_on_the_same_weights(reference, saved, make_batch):
    theirs, folder = saved("BertModel")
    decoder = reference("BertModel", is_decoder=True, use_cache=False)
    decoder.load_state_dict(theirs.state_dict())
    encoder = Encoder.from_pretrained(folder)
    inputs = make_batch(theirs.config, 7, 17, "right")
    wanted, got = stage_by_stage(decoder, partial(encoder, causal=True), inputs)
    assert_same_stages(got, wanted)
    wanted, got = fused(decoder, partial(encoder, causal=True), inputs)
    assert_close(got.last_hidden_state, wanted.last_hidden_state, **TOLERANCE)
    both_ways = encoder(**inputs).last_hidden_state
    assert not torch.allclose(got.last_hidden_state, both_ways, atol=0.1)


# What the masks do to a whole encoder


@pytest.fixture(params=["bert", "roberta"])
def encoder(request, pretraining_pair):
    return pretraining_pair[request.param][1].encoder


def test_causal_hides_the_future_and_nothing_else_does(encoder, make_batch):
    ids = make_batch(encoder.config, 2, 9)["input_ids"]
    ids[ids == encoder.config.pad_token_id] = 5  # in RoBERTa, padding would move the positions behind it
    changed = ids.clone()
    changed[:, 6] = (ids[:, 6] + 7) % 90 + 2
    with torch.no_grad():
        before, after = (encoder(x, causal=True).last_hidden_state for x in (ids, changed))
        assert_close(after[:, :6], before[:, :6])
        assert (after[:, 6:] - before[:, 6:]).abs().amax(-1).min() > 1e-3
        before, after = (encoder(x).last_hidden_state for x in (ids, changed))
        assert (after - before).abs().amax(-1).min() > 1e-3


@pytest.mark.parametrize("padding", ["left", "right"])
def test_tokens_notice_padding_only_where_it_moves_their_positions(encoder, make_batch, padding):
    short = make_batch(encoder.config, 2, 5)["input_ids"]
    pads = torch.full((2, 4), encoder.config.pad_token_id)
    parts = [pads, short] if padding == "left" else [short, pads]
    ids = torch.cat(parts, dim=1)
    mask = torch.cat([torch.zeros_like(x) if x is pads else torch.ones_like(x) for x in parts], dim=1)
    with torch.no_grad():
        padded = encoder(ids, mask).last_hidden_state[mask.bool()]  # (batch * 5, hidden)
        alone = encoder(short).last_hidden_state.flatten(0, 1)
    moved = encoder.config.model_type == "bert" and padding == "left"  # BERT counts from the left edge
    assert torch.allclose(padded, alone, atol=1e-5, rtol=0) == (not moved)


@pytest.mark.parametrize("output_attentions", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_sequence_of_padding_only_stays_finite_in_value_and_gradient(encoder, output_attentions, causal):
    encoder.zero_grad()
    ids = torch.full((2, 6), encoder.config.pad_token_id)
    ids[1, 3:] = 7
    output = encoder(ids, (ids == 7).long(), causal=causal, output_attentions=output_attentions)
    output.last_hidden_state.square().sum().backward()
    assert output.last_hidden_state.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.blocks.parameters())


def test_roberta_positions_count_tokens_and_skip_padding():
    embeddings = Encoder(tiny_config("roberta")).embeddings
    ids = torch.tensor([[0, 5, 6, 2, 1, 1], [1, 1, 0, 5, 6, 2]])
    assert embeddings.position_ids(ids).tolist() == [[2, 3, 4, 5, 1, 1], [1, 1, 2, 3, 4, 5]]


def test_bert_positions_count_everything():
    embeddings = Encoder(tiny_config("bert")).embeddings
    assert embeddings.position_ids(torch.tensor([[0, 0, 5, 6]])).tolist() == [[0, 1, 2, 3]]


# Fresh models


def tiny_config(model_type="bert", **overrides):
    sizes = {"vocab_size": 40, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    sizes |= {"intermediate_size": 20, "max_position_embeddings": 10, "pad_token_id": int(model_type == "roberta")}
    return EncoderConfig(model_type=model_type, **{**sizes, **overrides})


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (EncoderConfig(), 109_482_240),
        (EncoderConfig("roberta", 50265, max_position_embeddings=514, type_vocab_size=1), 124_645_632),
    ],
)
def test_base_models_have_the_known_number_of_parameters(config, parameters):
    with torch.device("meta"):
        assert sum(parameter.numel() for parameter in Encoder(config).parameters()) == parameters


@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_fresh_weights_are_normal_with_zero_biases_and_padding(model_type):
    torch.manual_seed(0)
    model = EncoderForMaskedLM(tiny_config(model_type, vocab_size=500, hidden_size=96, tie_word_embeddings=False))
    tables = [model.encoder.embeddings.word_embeddings]
    if model_type == "roberta":
        tables.append(model.encoder.embeddings.position_embeddings)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all()
            assert (module.bias == 0).all()
        elif isinstance(module, nn.Linear):
            assert module.weight.std().item() == pytest.approx(0.02, rel=0.1)
            assert (module.bias == 0).all()
        elif isinstance(module, nn.Embedding) and module.num_embeddings > 100:
            assert module.weight.std().item() == pytest.approx(0.02, rel=0.1)
    for table in tables:
        assert (table.weight[model.encoder.config.pad_token_id] == 0).all()
        assert (table.weight != 0).any(-1).sum() == table.num_embeddings - 1


def test_decoder_shares_the_word_embeddings_only_if_tied():
    for model_class in (EncoderForMaskedLM, EncoderForPreTraining):
        tied, untied = (model_class(tiny_config(tie_word_embeddings=tie)) for tie in (True, False))
        assert tied.mlm_head.decoder.weight is tied.encoder.embeddings.word_embeddings.weight
        assert untied.mlm_head.decoder.weight is not untied.encoder.embeddings.word_embeddings.weight


def test_dropout_acts_in_training_only():
    ids = torch.arange(8)[None]
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        model = Encoder(tiny_config(**{**without, name: 0.5}))
        assert not torch.equal(model(ids).last_hidden_state, model(ids).last_hidden_state), name
        model.eval()
        assert torch.equal(model(ids).last_hidden_state, model(ids).last_hidden_state), name


def test_encoder_without_pooler_returns_none_for_it():
    model = Encoder(tiny_config(), with_pooler=False)
    assert model.pooler is None
    assert model(torch.arange(8)[None]).pooler_output is None


def test_pretraining_with_roberta_is_refused():
    with pytest.raises(ValueError, match=r"RoBERTa.*next-sentence.*EncoderForMaskedLM"):
        EncoderForPreTraining(tiny_config("roberta"))


# Configuration


def test_defaults_are_those_of_transformers():
    theirs = BertConfig()
    for name, value in asdict(EncoderConfig()).items():
        assert getattr(theirs, name) == value, name


@pytest.mark.parametrize("config_class", [BertConfig, RobertaConfig])
def test_configurations_of_transformers_are_read_field_by_field(config_class):
    theirs = config_class(vocab_size=77, hidden_size=24, num_attention_heads=3, layer_norm_eps=1e-5)
    ours = EncoderConfig.from_dict(theirs.to_dict())
    for name, value in asdict(ours).items():
        assert getattr(theirs, name) == value, name


def test_fields_that_change_nothing_are_ignored():
    harmless = {"use_cache": True, "chunk_size_feed_forward": 8, "architectures": ["X"], "dtype": "float16"}
    assert EncoderConfig.from_dict(harmless) == EncoderConfig()


def test_roberta_pads_with_one_when_its_config_does_not_say():
    assert EncoderConfig.from_dict({"model_type": "roberta"}).pad_token_id == 1
    assert EncoderConfig.from_dict({"model_type": "bert"}).pad_token_id == 0


@pytest.mark.parametrize(
    ("field", "value", "supported"),
    [
        ("model_type", "distilbert", "'bert' or 'roberta'"),
        ("model_type", "xlm-roberta", "'bert' or 'roberta'"),
        ("position_embedding_type", "relative_key", "'absolute'"),
        ("is_decoder", True, "False"),
        ("is_encoder_decoder", True, "False"),
        ("add_cross_attention", True, "False"),
        ("hidden_act", "quick_gelu", "gelu_new"),
        ("hidden_size", 100, "num_attention_heads=12"),
        ("embedding_size", 128, "768"),
        ("pruned_heads", {"0": [1]}, "{}"),
        ("quantization_config", {"bits": 8}, "None"),
    ],
)
def test_fields_that_matter_and_are_not_supported_are_refused(field, value, supported):
    with pytest.raises(ValueError) as error:
        EncoderConfig.from_dict({field: value})
    assert f"{field}={value!r}" in str(error.value)
    assert supported in str(error.value)


def test_longest_sequence_leaves_out_the_rows_that_roberta_reserves():
    assert EncoderConfig(max_position_embeddings=512).max_length == 512
    assert EncoderConfig("roberta", max_position_embeddings=514, pad_token_id=1).max_length == 512


# Inputs


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"input_ids": torch.zeros(8, dtype=torch.long)}, ["input_ids", "(batch, time)", "(8,)"]),
        ({"input_ids": torch.zeros(1, 2, 3, dtype=torch.long)}, ["input_ids", "(batch, time)", "(1, 2, 3)"]),
        ({"input_ids": torch.zeros(1, 8)}, ["input_ids", "int64", "float32"]),
        ({"input_ids": torch.zeros(1, 11, dtype=torch.long)}, ["input_ids", "11", "10"]),
        ({"input_ids": torch.zeros(1, 0, dtype=torch.long)}, ["input_ids", "0 tokens", "1 to 10"]),
        ({"input_ids": torch.tensor([[3, 40]])}, ["input_ids", "40", "vocab_size", "0 to 39"]),
        ({"input_ids": torch.tensor([[3, -100]])}, ["input_ids", "-100", "vocab_size", "0 to 39"]),
        (
            {"input_ids": torch.zeros(2, 8, dtype=torch.long), "attention_mask": torch.ones(2, 7)},
            ["attention_mask", "(2, 7)", "(2, 8)"],
        ),
        (
            {"input_ids": torch.zeros(2, 8, dtype=torch.long), "attention_mask": torch.ones(2, 1, 1, 8)},
            ["attention_mask", "(2, 1, 1, 8)", "(2, 8)"],
        ),
        (
            {"input_ids": torch.zeros(2, 8, dtype=torch.long), "token_type_ids": torch.zeros(1, 8).long()},
            ["token_type_ids", "(1, 8)", "(2, 8)"],
        ),
        (
            {"input_ids": torch.zeros(1, 2, dtype=torch.long), "token_type_ids": torch.tensor([[0, 2]])},
            ["token_type_ids", "2", "type_vocab_size", "0 to 1"],
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, words):
    for model in (Encoder(tiny_config()), EncoderForMaskedLM(tiny_config()), EncoderForPreTraining(tiny_config())):
        with pytest.raises(ValueError) as error:
            model(**inputs)
        for word in words:
            assert word in str(error.value)


def test_roberta_takes_as_many_tokens_as_positions_are_left():
    model = Encoder(tiny_config("roberta"))
    assert model(torch.full((1, 8), 5)).last_hidden_state.shape == (1, 8, 12)
    with pytest.raises(ValueError, match=r"9 tokens.* 8"):
        model(torch.full((1, 9), 5))


def test_roberta_refuses_the_segments_of_a_bert_tokenizer():
    model = Encoder(tiny_config("roberta", type_vocab_size=1))
    with pytest.raises(ValueError, match=r"token_type_ids has 1.*type_vocab_size=1"):
        model(torch.full((1, 4), 5), token_type_ids=torch.tensor([[0, 0, 1, 1]]))


def test_ids_may_be_of_32_bits():
    model = Encoder(tiny_config()).eval()
    ids = torch.arange(8)[None]
    with torch.no_grad():
        assert torch.equal(model(ids.int()).last_hidden_state, model(ids).last_hidden_state)
