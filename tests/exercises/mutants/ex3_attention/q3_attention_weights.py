"""Question 3, attention_weights. The cells of this file are answers; test_mutants.py says how they are marked."""
# ruff: noqa: F811

import numpy as np


# %% wrong: the sums lose their axis, so columns are divided
# fails: q3_visible q3_hidden q4_visible
# says: keep the axis that you sum over
def attention_weights(scores, mask=None):
    shown = scores if mask is None else np.where(mask, scores, -np.inf)
    largest = shown.max(axis=-1, keepdims=True)
    shares = np.exp(shown - np.where(np.isfinite(largest), largest, 0.0))
    total = shares.sum(axis=-1)
    return shares / np.where(total > 0, total, 1.0)


# %% wrong: softmax over the queries
# fails: q3_visible q3_hidden q4_visible
# says: the softmax runs over the wrong axis
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    powers = np.exp(scores - scores.max(axis=0, keepdims=True))
    return powers / powers.sum(axis=0, keepdims=True)


# %% wrong: one softmax for the whole array
# fails: q3_visible q3_hidden q4_visible
# says: The whole array sums to 1
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


# %% wrong: masked after the softmax, without sharing out again
# fails: q3_visible q3_hidden q4_visible
# says: The mask came after the softmax
def attention_weights(scores, mask=None):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return weights if mask is None else weights * mask


# %% wrong: hides where the mask is True
# fails: q3_visible q3_hidden q4_visible
# says: You hid the keys where the mask is True
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + np.where(mask, -1e9, 0)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# %% wrong: a hidden score is 0
# fails: q3_visible q3_hidden q4_visible
# says: A score of 0 hides nothing
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores * mask
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# %% wrong: a row without keys is shared evenly
# fails: q3_visible q3_hidden
# says: you share its weight evenly among hidden ones
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# %% wrong: a penalty is added, and a row without keys comes out as if nothing were hidden
# fails: q3_visible q3_hidden
# says: its weights are as if nothing were hidden
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores - 1e9 * ~mask
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# %% wrong: a row without keys is NaN
# fails: q3_visible q3_hidden
# says: became 0 / 0
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# %% wrong: a penalty of 10
# fails: q3_visible q3_hidden q4_visible
# says: the penalty is too small
def attention_weights(scores, mask=None):
    if mask is None:
        mask = np.ones(scores.shape, bool)
    scores = scores + np.where(mask, 0, -10)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) * mask.any(axis=-1, keepdims=True)


# %% wrong: the scores are changed in place
# fails: q3_visible
# says: Your function changed the scores
def attention_weights(scores, mask=None):
    if mask is None:
        mask = np.ones(scores.shape, bool)
    scores[~mask] = -1e30
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# %% wrong: no maximum is subtracted
# fails: q3_visible q3_hidden
# says: exp(1e4) overflows
def attention_weights(scores, mask=None):
    powers = np.exp(scores) if mask is None else np.exp(scores) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# %% wrong: one maximum for all rows
# fails: q3_hidden
# says: wrong when rows differ much in size
def attention_weights(scores, mask=None):
    powers = np.exp(scores - scores.max())
    if mask is not None:
        powers = powers * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# %% wrong: the maximum counts hidden keys
# fails: q3_hidden
# says: wrong when a hidden key scores highest
def attention_weights(scores, mask=None):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        powers = powers * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# %% wrong: a penalty as large as the scores
# fails: q3_hidden
# says: wrong when a hidden key scores highest
def attention_weights(scores, mask=None):
    if mask is None:
        mask = np.ones(scores.shape, bool)
    scores = scores + np.where(mask, 0, -1e4)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) * mask.any(axis=-1, keepdims=True)


# %% wrong: the future is hidden without being asked
# fails: q3_visible q3_hidden q4_visible
# says: attention_weights(scores): the values are not right
def attention_weights(scores, mask=None):
    if mask is None:
        mask = np.tri(len(scores), dtype=bool)
    shown = np.where(mask, scores, -1e30)
    powers = np.exp(shown - shown.max(axis=-1, keepdims=True)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# %% wrong: the reference is called instead of writing it
# fails: q3_visible q3_hidden q4_visible
# says: unmasked is what this exercise asks you to write
def attention_weights(scores, mask=None):
    import torch
    from unmasked.attention import masked_softmax

    mask = None if mask is None else torch.from_numpy(mask)
    return masked_softmax(torch.from_numpy(scores), mask).numpy()


# %% wrong: empty rows are opened in the mask that was given, and closed in the weights only
# fails: q3_hidden
# says: the mask was changed
def attention_weights(scores, mask=None):
    if mask is None:
        mask = np.ones(scores.shape, bool)
    empty = ~mask.any(axis=-1)
    mask[empty] = True
    shown = np.where(mask, scores, -np.inf)
    powers = np.exp(shown - shown.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    weights[empty] = 0
    return weights


# %% wrong: the largest score is at least 0
# fails: q3_hidden
# says: wrong when rows differ much in size
def attention_weights(scores, mask=None):
    mask = np.ones(scores.shape, bool) if mask is None else mask
    largest = np.max(scores, axis=-1, keepdims=True, initial=0, where=mask)
    powers = np.where(mask, np.exp(scores - largest), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# %% right: row by row
def attention_weights(scores, mask=None):
    weights = np.zeros(scores.shape)
    for t in range(len(scores)):
        keys = np.arange(len(scores)) if mask is None else np.flatnonzero(mask[t])
        if len(keys):
            powers = np.exp(scores[t, keys] - scores[t, keys].max())
            weights[t, keys] = powers / powers.sum()
    return weights


# %% right: NaN turned into zeros
def attention_weights(scores, mask=None):
    shown = scores if mask is None else np.where(mask, scores, -np.inf)
    powers = np.exp(shown - shown.max(axis=-1, keepdims=True))
    return np.nan_to_num(powers / powers.sum(axis=-1, keepdims=True))


# %% right: a large penalty, and the empty rows multiplied away
def attention_weights(scores, mask=None):
    if mask is None:
        mask = np.ones_like(scores, dtype=bool)
    scores = scores + np.where(mask, 0.0, -1e9)
    powers = np.exp(scores - scores.max(axis=1)[:, None])
    return powers / powers.sum(axis=1)[:, None] * mask.any(axis=1)[:, None]


# %% right: the softmax of torch
def attention_weights(scores, mask=None):
    import torch

    scores = torch.tensor(scores)
    if mask is None:
        return scores.softmax(-1).numpy()
    hidden = ~torch.tensor(mask)
    return scores.masked_fill(hidden, -torch.inf).softmax(-1).masked_fill(hidden, 0).numpy()


# %% right: logarithms
def attention_weights(scores, mask=None):
    shown = np.array(scores, dtype=float)
    if mask is not None:
        shown[~mask] = -np.inf
    total = np.logaddexp.reduce(shown, axis=-1, keepdims=True)
    return np.exp(shown - np.where(np.isinf(total), 0, total))


# %% right: nanmax, which warns of a row without keys
def attention_weights(scores, mask=None):
    shown = scores if mask is None else np.where(mask, scores, np.nan)
    powers = np.nan_to_num(np.exp(shown - np.nanmax(shown, axis=-1, keepdims=True)))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)
