"""Half done: the NumPy questions are right, the PyTorch questions are untouched."""

# %% q1_scaled_scores
def scaled_scores(Q, K):
    """Scores (T, T) of every query with every key, both given as (T, d_k), divided by the root of d_k."""
    return Q @ K.T / np.sqrt(Q.shape[1])


# %% q2_causal_mask
def causal_mask(T):
    """Boolean array (T, T): True where row t may look at column s, that is where s <= t."""
    return np.tril(np.ones((T, T), dtype=bool))


# %% q3_attention_weights
def attention_weights(scores, mask=None):
    """Softmax over the keys (last axis) that mask shows; zeros for a row that has none. (T, T) -> (T, T)."""
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    hidden = np.where(mask, scores, -np.inf)
    top = hidden.max(axis=-1, keepdims=True)
    top[np.isinf(top)] = 0
    e = np.exp(hidden - top)
    total = e.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    return e / total


# %% q4_future_weight
def future_weight(weights):
    """For each row of weights (T, T), the sum of its weights on later tokens. Returns shape (T,)."""
    return np.triu(weights, k=1).sum(axis=1)
