"""Question 4, future_weight. The cells of this file are answers; test_mutants.py says how they are marked."""
# ruff: noqa: F811

import numpy as np


# %% wrong: the token itself counts
# fails: q4_visible q4_hidden
# says: You counted the token itself
def future_weight(weights):
    return np.triu(weights).sum(axis=1)


# %% wrong: the past instead of the future
# fails: q4_visible q4_hidden
# says: the weight on earlier tokens
def future_weight(weights):
    return np.tril(weights, k=-1).sum(axis=1)


# %% wrong: sums of columns
# fails: q4_visible q4_hidden
# says: You summed the columns
def future_weight(weights):
    return np.triu(weights, k=1).sum(axis=0)


# %% wrong: the mean of the row
# fails: q4_visible q4_hidden
# says: This is the mean over the row
def future_weight(weights):
    return np.triu(weights, k=1).mean(axis=1)


# %% wrong: one number for all rows
# fails: q4_visible q4_hidden
# says: expected ndarray, got float64
def future_weight(weights):
    return np.triu(weights, k=1).sum()


# %% wrong: one column for each row
# fails: q4_visible q4_hidden
# says: expected shape (3,), got (3, 1)
def future_weight(weights):
    return np.triu(weights, k=1).sum(axis=1, keepdims=True)


# %% wrong: what the earlier tokens leave over, for rows that sum to 1 only
# fails: q4_hidden
# says: the sums are wrong for another T
def future_weight(weights):
    return 1 - np.tril(weights).sum(axis=1)


# %% wrong: past and present are set to 0 in the weights themselves
# fails: q4_visible q4_hidden
# says: Your function changed the weights
def future_weight(weights):
    weights[np.tril_indices(len(weights))] = 0
    return weights.sum(axis=1)


# %% right: slices in a loop
def future_weight(weights):
    return np.array([weights[t, t + 1 :].sum() for t in range(len(weights))])


# %% right: an index mask
def future_weight(weights):
    position = np.arange(weights.shape[0])
    return np.where(position[None, :] > position[:, None], weights, 0).sum(-1)


# %% right: einsum
def future_weight(weights):
    T = len(weights)
    return np.einsum("ts,ts->t", weights, 1.0 - np.tri(T))
