"""Question 1, scaled_scores. The cells of this file are answers; test_mutants.py says how they are marked."""
# ruff: noqa: F811

import numpy as np


# %% wrong: the scale is forgotten
# fails: q1_visible q1_hidden
# says: the scores without the scale
def scaled_scores(Q, K):
    return Q @ K.T


# %% wrong: divided by d_k instead of its root
# fails: q1_visible q1_hidden
# says: You divided by d_k itself
def scaled_scores(Q, K):
    return Q @ K.T / Q.shape[-1]


# %% wrong: divided by the root of the number of tokens
# fails: q1_visible q1_hidden
# says: the square root of T, the number of tokens
def scaled_scores(Q, K):
    return Q @ K.T / np.sqrt(len(Q))


# %% wrong: multiplied by the root
# fails: q1_visible q1_hidden
# says: You multiplied by the square root
def scaled_scores(Q, K):
    return Q @ K.T * np.sqrt(Q.shape[-1])


# %% wrong: keys ask and queries answer
# fails: q1_visible q1_hidden
# says: Rows and columns are exchanged
def scaled_scores(Q, K):
    return K @ Q.T / np.sqrt(Q.shape[-1])


# %% wrong: the features are compared, not the tokens
# Question 4 runs this answer on the listing, where its scores are 4 x 4 and the mask is 6 x 6.
# fails: q1_visible q1_hidden q4_visible
# says: You compared the d_k numbers with each other
def scaled_scores(Q, K):
    return Q.T @ K / np.sqrt(Q.shape[-1])


# %% wrong: the scale of the example is written into the function
# fails: q1_hidden
# says: wrong for another T or d_k
def scaled_scores(Q, K):
    return Q @ K.T / 2


# %% wrong: the queries are scaled in place
# fails: q1_hidden
# says: Q or K was changed
def scaled_scores(Q, K):
    Q /= np.sqrt(Q.shape[-1])
    return Q @ K.T


# %% wrong: lists come back instead of an array
# Question 4 hands this answer on to attention_weights, which expects an array.
# fails: q1_visible q4_visible
# says: expected ndarray, got list
def scaled_scores(Q, K):
    return (Q @ K.T / np.sqrt(Q.shape[-1])).tolist()


# %% wrong: nothing comes back
# fails: q1_visible q1_hidden q4_visible
# says: expected ndarray, got NoneType
def scaled_scores(Q, K):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])  # noqa: F841


# %% wrong: the parameters are renamed, the body still reads Q and K of the check
# fails: q1_hidden
# says: wrong for another T or d_k
def scaled_scores(queries, keys):
    return Q @ K.T / np.sqrt(queries.shape[-1])  # noqa: F821


# %% wrong: half of d_k, which is its root when d_k is 4
# fails: q1_hidden
# says: wrong for another T or d_k
def scaled_scores(Q, K):
    return Q @ K.T / (Q.shape[-1] / 2)


# %% right: two loops
def scaled_scores(Q, K):
    T, d_k = Q.shape
    scores = np.zeros((T, T))
    for t in range(T):
        for s in range(T):
            scores[t, s] = np.dot(Q[t], K[s]) / d_k**0.5
    return scores


# %% right: einsum
def scaled_scores(Q, K):
    return np.einsum("td,sd->ts", Q, K) * Q.shape[1] ** -0.5


# %% right: the queries are scaled first
def scaled_scores(Q, K):
    return np.matmul(Q / np.sqrt(K.shape[1]), np.transpose(K))


# %% right: broadcasting
def scaled_scores(Q, K):
    return (Q[:, None, :] * K[None, :, :]).sum(axis=2) / np.sqrt(K.shape[-1])
