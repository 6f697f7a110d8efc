"""Attention: masks, the masked softmax, heads, and the layer on both of its ways."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from unmasked.attention import (
    SelfAttention,
    attend,
    attention_scores,
    causal_mask,
    masked_softmax,
    merge_heads,
    padding_mask,
    split_heads,
)

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**31)


def random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def random_mask(seed, *shape):
    return random(seed + 1, *shape) > 0


# Masks


def test_causal_mask_lets_each_position_see_itself_and_the_past():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool, torch.float32])
def test_padding_mask_hides_keys_for_all_heads_and_queries(dtype):
    mask = padding_mask(torch.tensor([[1, 1, 0], [0, 1, 1]], dtype=dtype))
    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [False, True, True]]


@pytest.mark.parametrize("shape", [(3,), (2, 1, 3)])
def test_padding_mask_of_wrong_rank_is_refused(shape):
    with pytest.raises(ValueError, match=r"\(batch, time\)") as error:
        padding_mask(torch.ones(shape))
    assert str(shape) in str(error.value)


# Scores and softmax


def test_scores_are_dot_products_over_the_root_of_the_head_size():
    query = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    key = torch.tensor([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
    assert_close(attention_scores(query, key), torch.tensor([[5.0, 6.0]]))


def test_scores_of_random_vectors_keep_unit_variance_at_any_head_size():
    for head_dim in (16, 256):
        scores = attention_scores(random(0, 300, head_dim), random(1, 300, head_dim))
        assert scores.std().item() == pytest.approx(1, abs=0.05)


@settings(deadline=None)
@given(seeds, sizes, sizes, sizes, st.sampled_from([1.0, 100.0, 1e4]))
def test_rows_sum_to_one_or_to_zero_and_hidden_entries_get_exactly_nothing(seed, batch, queries, keys, scale):
    mask = random_mask(seed, batch, queries, keys)
    weights = masked_softmax(scale * random(seed, batch, queries, keys), mask)
    assert weights.isfinite().all()
    assert (weights[~mask] == 0).all()
    assert_close(weights.sum(-1), mask.any(-1).float())


@settings(deadline=None)
@given(seeds, sizes, sizes, st.floats(-50, 50))
def test_weights_do_not_change_when_a_constant_is_added_to_a_row(seed, queries, keys, constant):
    scores, mask = random(seed, queries, keys), random_mask(seed, queries, keys)
    assert_close(masked_softmax(scores + constant, mask), masked_softmax(scores, mask), atol=1e-5, rtol=1e-4)


@settings(deadline=None)
@given(seeds, sizes, sizes)
def test_hidden_scores_have_no_influence(seed, queries, keys):
    scores, mask = random(seed, queries, keys), random_mask(seed, queries, keys)
    other = scores.masked_fill(~mask, 1e4)
    assert torch.equal(masked_softmax(other, mask), masked_softmax(scores, mask))


@settings(deadline=None)
@given(seeds, sizes, sizes)
def test_among_visible_keys_it_is_the_softmax_of_these_keys_alone(seed, queries, keys):
    scores, mask = random(seed, queries, keys), random_mask(seed, queries, keys)
    for row, visible, weights in zip(scores, mask, masked_softmax(scores, mask), strict=True):
        assert_close(weights[visible], row[visible].softmax(-1))


def test_without_a_mask_it_is_softmax():
    scores = random(0, 2, 3, 4)
    assert torch.equal(masked_softmax(scores), scores.softmax(-1))
    assert_close(masked_softmax(scores, torch.ones(4, dtype=torch.bool)), scores.softmax(-1))


def test_row_without_any_key_has_zero_weights_and_a_zero_gradient():
    scores = (1e4 * random(0, 2, 3)).requires_grad_()
    mask = torch.tensor([[False, False, False], [True, False, True]])
    with torch.autograd.set_detect_anomaly(True):  # refuses a NaN that a later step of backward would hide
        weights = masked_softmax(scores, mask)
        (weights * random(1, 2, 3)).sum().backward()
    assert (weights[0] == 0).all()
    assert (scores.grad[0] == 0).all()
    assert scores.grad.isfinite().all()


def test_gradient_is_that_of_softmax_over_the_visible_keys():
    mask = torch.tensor([True, False, True, True])
    scores, factor = random(0, 4).requires_grad_(), random(1, 4)
    (masked_softmax(scores, mask) * factor).sum().backward()
    alone = scores.detach()[mask].requires_grad_()
    (alone.softmax(-1) * factor[mask]).sum().backward()
    assert_close(scores.grad[mask], alone.grad)
    assert (scores.grad[~mask] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_mask_of_numbers_is_refused(dtype):
    layer, mask = SelfAttention(4, 2), torch.zeros(2, 2, 3, 3, dtype=dtype)
    for call in (
        lambda: masked_softmax(torch.zeros(2, 2, 3, 3), mask),
        lambda: layer(torch.zeros(2, 3, 4), mask),
        lambda: layer(torch.zeros(2, 3, 4), mask, output_attentions=True),
    ):
        with pytest.raises(ValueError, match="must be bool") as error:
            call()
        assert str(dtype) in str(error.value)
        assert "(2, 2, 3, 3)" in str(error.value)


@pytest.mark.parametrize("shape", [(2, 3), (5, 1, 1, 3), (1, 2, 2, 3, 3)])
def test_mask_that_does_not_fit_is_refused_with_both_shapes(shape):
    layer, mask = SelfAttention(4, 2), torch.ones(shape, dtype=torch.bool)
    for call in (
        lambda: masked_softmax(torch.zeros(2, 2, 3, 3), mask),
        lambda: layer(torch.zeros(2, 3, 4), mask),
        lambda: layer(torch.zeros(2, 3, 4), mask, output_attentions=True),
    ):
        with pytest.raises(ValueError, match="cannot be broadcast") as error:
            call()
        assert str(shape) in str(error.value)
        assert "(2, 2, 3, 3)" in str(error.value)


def test_attend_mixes_the_values_by_the_weights():
    query, key, value = random(0, 2, 3, 4), random(1, 2, 5, 4), random(2, 2, 5, 7)
    mask = random_mask(3, 2, 3, 5)
    mask[..., 0] = True
    context, weights = attend(query, key, value, mask)
    scores = torch.einsum("btd,bsd->bts", query, key) / math.sqrt(4)
    assert_close(weights, scores.masked_fill(~mask, -1e9).softmax(-1))
    assert_close(context, torch.einsum("bts,bsv->btv", weights, value))
    assert_close(context, F.scaled_dot_product_attention(query, key, value, mask))


# Heads


@settings(deadline=None)
@given(sizes, sizes, sizes, sizes)
def test_merging_undoes_splitting(batch, time, heads, head_dim):
    x = random(0, batch, time, heads * head_dim)
    parts = split_heads(x, heads)
    assert parts.shape == (batch, heads, time, head_dim)
    assert torch.equal(merge_heads(parts), x)


def test_each_head_gets_its_own_slice_of_each_token():
    x = random(0, 2, 5, 6)
    assert torch.equal(split_heads(x, 3)[1, 2, 4], x[1, 4, 4:6])


def test_hidden_size_that_heads_do_not_divide_is_refused():
    with pytest.raises(ValueError, match=r"10.*3"):
        split_heads(torch.zeros(1, 2, 10), 3)
    with pytest.raises(ValueError, match=r"10.*3"):
        SelfAttention(10, 3)


# The layer


def devices():
    return ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("time", [1, 5, 128])
@pytest.mark.parametrize("kind", ["none", "padding", "causal", "both", "nothing visible"])
def test_both_ways_of_the_layer_agree_in_value_and_gradient(kind, time, device):
    torch.manual_seed(0)
    layer = SelfAttention(24, 3).to(device)
    attention_mask = torch.ones(4, time, dtype=torch.long, device=device)
    attention_mask[0, : time // 2] = 0  # with the causal mask, the first queries of this row see no key
    attention_mask[1] = 0
    mask = {
        "none": None,
        "padding": padding_mask(attention_mask),
        "causal": causal_mask(time, device),
        "both": padding_mask(attention_mask) & causal_mask(time, device),
        "nothing visible": torch.zeros(4, 1, 1, time, dtype=torch.bool, device=device),
    }[kind]
    x = random(0, 4, time, 24).to(device)
    factor = random(1, 4, time, 24).to(device)

    results = []
    for output_attentions in (False, True):
        inputs = x.clone().requires_grad_()
        layer.zero_grad()
        output, weights = layer(inputs, mask, output_attentions)
        (output * factor).sum().backward()
        results.append([output, inputs.grad, *(parameter.grad.clone() for parameter in layer.parameters())])
    for fast, explicit in zip(*results, strict=True):
        assert explicit.isfinite().all()
        assert_close(fast, explicit, atol=1e-5, rtol=1e-4)
    assert weights.shape == (4, 3, time, time)
    if kind == "nothing visible":
        assert_close(output, layer.output.bias.expand_as(output))


def test_layer_is_projection_attention_per_head_and_projection():
    torch.manual_seed(0)
    layer, x = SelfAttention(12, 3), random(0, 2, 5, 12)
    per_head = [
        attend(layer.query(x)[..., part], layer.key(x)[..., part], layer.value(x)[..., part])[0]
        for part in (slice(0, 4), slice(4, 8), slice(8, 12))
    ]
    assert_close(layer(x)[0], layer.output(torch.cat(per_head, dim=-1)))


def test_weights_come_only_when_asked_for():
    layer, x = SelfAttention(12, 3), random(0, 2, 5, 12)
    assert layer(x)[1] is None
    assert_close(layer(x, output_attentions=True)[1].sum(-1), torch.ones(2, 3, 5))


@pytest.mark.parametrize("output_attentions", [False, True])
def test_dropout_falls_on_the_weights_in_training_only(output_attentions):
    torch.manual_seed(0)
    layer = SelfAttention(8, 2, dropout_prob=0.5)
    with torch.no_grad():
        layer.output.weight.copy_(torch.eye(8))
        layer.output.bias.zero_()
    # With one token the only weight is 1, so a head's context is its value: dropped whole, or doubled.
    x = random(0, 500, 1, 8)
    value = split_heads(layer.value(x), 2)
    context = split_heads(layer(x, None, output_attentions)[0], 2)
    dropped = (context == 0).all(-1)
    assert 0.4 < dropped.float().mean() < 0.6
    assert_close(context[~dropped], 2 * value[~dropped])
    assert_close(layer.eval()(x, None, output_attentions)[0], layer.value(x))


def test_returned_weights_are_those_before_dropout():
    layer, x = SelfAttention(8, 2, dropout_prob=0.5), random(0, 2, 5, 8)
    assert_close(layer.train()(x, None, True)[1], layer.eval()(x, None, True)[1])
