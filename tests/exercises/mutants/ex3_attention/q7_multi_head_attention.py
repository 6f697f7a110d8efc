"""Question 7, multi_head_attention. The cells are answers; test_mutants.py says how they are marked.

They may call split_heads, merge_heads and build_mask, which are those of the solution here.
"""
# ruff: noqa: E402, F811, F821

import torch


# %% wrong: the scale is forgotten
# fails: q7_visible q7_hidden
# says: The scores are not scaled
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: scaled by the width of the layer
# fails: q7_visible q7_hidden
# says: You scaled by the width of the layer
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / x.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: wo is forgotten
# fails: q7_visible q7_hidden
# says: The last step is missing: multiply by wo
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v), weights


# %% wrong: the values are x itself
# fails: q7_visible q7_hidden
# says: the values are x @ wv
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k = (split_heads(x @ w, num_heads) for w in (wq, wk))
    v = split_heads(x, num_heads)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: transposed matrices, as nn.Linear stores them
# fails: q7_visible q7_hidden
# says: You used the transposed matrices
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w.T, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo.T, weights


# %% wrong: softmax over the queries
# fails: q7_visible q7_hidden
# says: The softmax runs over the queries
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-2).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: heads cut by a reshape
# fails: q7_visible q7_hidden
# says: The heads are cut wrongly on the way in
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = ((x @ w).reshape(x.shape[0], num_heads, x.shape[1], -1) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: heads merged by a reshape
# fails: q7_visible q7_hidden
# says: The heads are put together wrongly
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return (weights @ v).reshape(x.shape) @ wo, weights


# %% wrong: heads cut and merged by a reshape
# fails: q7_visible q7_hidden
# says: The heads are cut and put together wrongly
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = ((x @ w).reshape(x.shape[0], num_heads, x.shape[1], -1) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return (weights @ v).reshape(x.shape) @ wo, weights


# %% wrong: one head of the whole width
# fails: q7_visible q7_hidden
# says: There is one head here
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, 1) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: the output alone comes back
# fails: q7_visible q7_hidden
# says: Return two tensors
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo


# %% wrong: the output keeps its heads apart
# fails: q7_visible q7_hidden
# says: output: expected shape (1, 3, 4)
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return weights @ v, weights


# %% wrong: the mean of the heads' weights comes back
# fails: q7_visible q7_hidden
# says: the matrix of each head, got
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights.mean(1)


# %% wrong: the scores come back
# fails: q7_visible q7_hidden
# says: These are the scores, not the weights
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, scores


# %% wrong: the attention mask is ignored
# fails: q7_visible q7_hidden
# says: Token 2 is padding and gets weight when causal is False
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(torch.ones(x.shape[:2]), causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: the attention mask is ignored when causal
# fails: q7_visible q7_hidden
# says: Token 2 is padding and gets weight when causal is True
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(torch.ones(x.shape[:2]) if causal else attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: the causal rule is ignored without an attention mask
# fails: q7_visible q7_hidden
# says: Token 0 looks at later tokens although causal is True
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask, causal = torch.ones(x.shape[:2]), False
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: masked after the softmax
# fails: q7_visible q7_hidden
# says: rows have to sum to 1
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: rows without a key are NaN
# fails: q7_visible q7_hidden
# says: Token 0 has no visible key and became NaN
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: rows without a key are shared evenly
# fails: q7_visible q7_hidden
# says: shares its weight among hidden ones
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -1e9).softmax(-1)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: the mask of the first sequence for all
# fails: q7_hidden
# says: wrong for another size, mask or scale
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask[:1], causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: a softmax by hand that overflows
# fails: q7_hidden
# says: wrong for another size, mask or scale
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    powers = scores.exp().masked_fill(~mask, 0)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: a matrix is scaled in place
# fails: q7_hidden
# says: x, a matrix or the mask was changed
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    wq /= (x.shape[-1] // num_heads) ** 0.5
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: a penalty as small as the scores
# fails: q7_hidden
# says: wrong for another size, mask or scale
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = (scores - 1e3 * ~mask).softmax(-1) * mask.any(-1, keepdim=True)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: the reference is called
# fails: q7_visible q7_hidden
# says: unmasked is what this exercise asks you to write
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    from unmasked.attention import attention

    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    context, weights = attention(q, k, v, mask)
    return merge_heads(context) @ wo, weights


# %% wrong: transformers is imported at the top
# The import fails, so the function is never defined: the answer cell itself says why.
# fails: q7_visible q7_hidden
# says: transformers is what this exercise asks you to write
from transformers.models.bert.modeling_bert import eager_attention_forward


def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    weights, context = eager_attention_forward(None, q, k, v, mask)
    return merge_heads(context) @ wo, weights


# %% wrong: scaled_dot_product_attention
# fails: q7_visible q7_hidden
# says: torch.nn.functional.scaled_dot_product_attention is what this exercise asks you to write
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2])
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    context = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    return merge_heads(context) @ wo, q @ k.mT


# %% wrong: MultiheadAttention
# fails: q7_visible q7_hidden
# says: torch.nn.MultiheadAttention is what this exercise asks you to write
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    layer = torch.nn.MultiheadAttention(x.shape[-1], num_heads, bias=False, batch_first=True)
    layer.in_proj_weight.data = torch.cat([wq.T, wk.T, wv.T])
    layer.out_proj.weight.data = wo.T
    return layer(x, x, x, average_attn_weights=False)


# %% wrong: multi_head_attention_forward
# fails: q7_visible q7_hidden
# says: torch.nn.functional.multi_head_attention_forward is what this exercise asks you to write
from torch.nn.functional import multi_head_attention_forward


def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    x, width = x.transpose(0, 1), x.shape[-1]
    projections = torch.cat([wq.T, wk.T, wv.T])
    return multi_head_attention_forward(
        x, x, x, width, num_heads, projections, None, None, None, False, 0.0, wo.T, None, average_attn_weights=False
    )


# %% wrong: TransformerEncoderLayer
# fails: q7_visible q7_hidden
# says: torch.nn.TransformerEncoderLayer is what this exercise asks you to write
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    layer = torch.nn.TransformerEncoderLayer(x.shape[-1], num_heads, batch_first=True, bias=False)
    return layer.self_attn(x, x, x, average_attn_weights=False)


# %% wrong: flex_attention of torch.nn.attention
# fails: q7_visible q7_hidden
# says: torch.nn.attention is what this exercise asks you to write
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    context = flex_attention(q, k, v)
    return merge_heads(context) @ wo, (q @ k.mT).softmax(-1)


# %% wrong: hidden scores are -1e4, as low as a visible one may be
# fails: q7_hidden
# says: wrong when a hidden key scores highest
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2], dtype=torch.int64)
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -1e4).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: a penalty of 1e4, which a hidden score of 1e4 makes up for
# fails: q7_hidden
# says: wrong when a hidden key scores highest
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2], dtype=torch.int64)
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = (scores - 1e4 * ~mask).softmax(-1) * mask.any(dim=-1, keepdim=True)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: rows without a key are looked for in the causal layer only
# fails: q7_hidden
# says: the weights are wrong for another size, mask or scale
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2], dtype=torch.int64)
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    if causal:
        weights = torch.nan_to_num(weights)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: a sequence of padding gets a token, in the attention mask that was given
# fails: q7_hidden
# says: x, a matrix or the mask was changed
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2], dtype=torch.int64)
    attention_mask[attention_mask.sum(dim=1) == 0, 0] = 1
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: a single token looks at itself, padding or not
# fails: q7_hidden
# says: the weights are wrong for another size, mask or scale
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2], dtype=torch.int64)
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    if x.shape[1] == 1:
        weights = torch.ones_like(weights)
    return merge_heads(weights @ v) @ wo, weights


# %% wrong: rows without a key are set to zero after the values were summed
# fails: q7_hidden
# says: the output is wrong for another size or mask
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones(x.shape[:2], dtype=torch.int64)
    mask = build_mask(attention_mask, causal)
    q, k, v = (split_heads(x @ w, num_heads) for w in (wq, wk, wv))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    shares = scores.masked_fill(~mask, -1e9).softmax(-1)
    weights = shares.masked_fill(~mask, 0)
    return merge_heads(shares @ v) @ wo, weights


# %% right: einsum throughout, heads as an axis of the matrices
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    B, T, D = x.shape
    d = D // num_heads
    q, k, v = (torch.einsum("btd,dhe->bhte", x, w.reshape(D, num_heads, d)) for w in (wq, wk, wv))
    scores = torch.einsum("bhte,bhse->bhts", q, k) * d**-0.5
    visible = torch.ones(B, 1, T, T) if attention_mask is None else attention_mask[:, None, None, :].expand(B, 1, T, T)
    if causal:
        visible = visible.tril()
    scores = torch.where(visible > 0, scores, torch.tensor(-1e30))
    weights = torch.softmax(scores, dim=-1) * visible
    return torch.einsum("bhts,bhse,hef->btf", weights, v, wo.reshape(num_heads, d, D)), weights


# %% right: one sequence and one head at a time
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    B, T, D = x.shape
    d = D // num_heads
    weights, mixed = torch.zeros(B, num_heads, T, T), torch.zeros(B, T, D)
    for b in range(B):
        for h in range(num_heads):
            part = slice(h * d, (h + 1) * d)
            q, k, v = x[b] @ wq[:, part], x[b] @ wk[:, part], x[b] @ wv[:, part]
            for t in range(T):
                keys = [s for s in range(t + 1 if causal else T) if attention_mask is None or attention_mask[b, s]]
                if keys:
                    weights[b, h, t, keys] = torch.softmax(k[keys] @ q[t] / d**0.5, dim=0)
            mixed[b, :, part] = weights[b, h] @ v
    return mixed @ wo, weights


# %% right: softmax by hand with a shifted row
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    mask = build_mask(torch.ones(x.shape[:2]) if attention_mask is None else attention_mask, causal)
    q, k, v = split_heads(x @ wq, num_heads), split_heads(x @ wk, num_heads), split_heads(x @ wv, num_heads)
    scores = torch.matmul(q, k.transpose(2, 3)) / (x.shape[-1] // num_heads) ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values) * mask
    weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-12)
    return merge_heads(weights @ v) @ wo, weights


# %% right: nan_to_num
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = x.new_ones(x.shape[0], x.shape[1])
    penalty = torch.zeros(()).masked_fill(~build_mask(attention_mask, causal), float("-inf"))
    q, k, v = split_heads(torch.cat([x @ wq, x @ wk, x @ wv], dim=-1), 3 * num_heads).chunk(3, dim=1)
    weights = torch.nan_to_num(torch.softmax(q @ k.mT / q.size(-1) ** 0.5 + penalty, dim=-1))
    return merge_heads(weights @ v) @ wo, weights


# %% right: layers of torch.nn that hold the matrices, with parameters that want gradients
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    layers = [torch.nn.Linear(len(w), len(w), bias=False) for w in (wq, wk, wv, wo)]
    for layer, w in zip(layers, (wq, wk, wv, wo), strict=True):
        layer.weight.data = w.T
    mask = build_mask(torch.ones(x.shape[:2]) if attention_mask is None else attention_mask, causal)
    q, k, v = (split_heads(layer(x), num_heads) for layer in layers[:3])
    weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0)
    return layers[3](merge_heads(weights @ v)), weights
