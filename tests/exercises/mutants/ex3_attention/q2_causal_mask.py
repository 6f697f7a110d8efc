"""Question 2, causal_mask. The cells of this file are answers; test_mutants.py says how they are marked."""
# ruff: noqa: F811

import numpy as np


# %% wrong: True hides
# fails: q2_visible q2_hidden q4_visible
# says: True has to mean 'may look'
def causal_mask(T):
    return np.triu(np.ones((T, T), dtype=bool), k=1)


# %% wrong: rows and columns exchanged
# fails: q2_visible q2_hidden q4_visible
# says: rows are the positions that look
def causal_mask(T):
    return np.triu(np.ones((T, T), dtype=bool))


# %% wrong: the diagonal is hidden
# fails: q2_visible q2_hidden q4_visible
# says: The diagonal is missing
def causal_mask(T):
    return np.tril(np.ones((T, T), dtype=bool), k=-1)


# %% wrong: a mask to be added
# The listing passes in question 4 unless a number counts as "may look": here the zeros hide.
# fails: q2_visible q2_hidden q4_visible
# says: These are numbers to add to the scores
def causal_mask(T):
    return np.where(np.tril(np.ones((T, T))) == 1, 0.0, -np.inf)


# %% wrong: ones and zeros instead of booleans
# fails: q2_visible q2_hidden
# says: The numbers are right, the type is not
def causal_mask(T):
    return np.tril(np.ones((T, T)))


# %% wrong: written out for the example
# fails: q2_hidden q4_visible
# says: wrong for another T
def causal_mask(T):
    return np.array([[True, False, False], [True, True, False], [True, True, True]])


# %% right: compared indices
def causal_mask(T):
    positions = np.arange(T)
    return positions[None, :] <= positions[:, None]


# %% right: the future, negated
def causal_mask(T):
    return ~np.triu(np.full((T, T), True), 1)


# %% right: a comprehension
def causal_mask(T):
    return np.array([[s <= t for s in range(T)] for t in range(T)])


# %% right: numpy.tri
def causal_mask(T):
    return np.tri(T, dtype=bool)


# %% right: row by row
def causal_mask(T):
    mask = np.zeros((T, T), bool)
    for t in range(T):
        mask[t, : t + 1] = True
    return mask
