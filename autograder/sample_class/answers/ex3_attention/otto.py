"""An answer that raises: a dimension is asked for that is not there."""

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


# %% q5_heads
def split_heads(x, num_heads):
    """(batch, T, width) -> (batch, num_heads, T, width / num_heads)."""
    batch, T, width = x.shape
    return x.view(batch, T, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(heads):
    """(batch, num_heads, T, d) -> (batch, T, num_heads * d)."""
    batch, num_heads, T, d, rest = heads.shape
    return heads.transpose(1, 2).reshape(batch, T, num_heads * d)


# %% q6_build_mask
def build_mask(attention_mask, causal):
    """(batch, T) of 1 and 0 -> boolean (batch, 1, T, T), True where a query may look at a key."""
    batch, T = attention_mask.shape
    mask = attention_mask.bool()[:, None, None, :].expand(batch, 1, T, T)
    if causal:
        mask = mask & torch.tril(torch.ones(T, T)).bool()
    return mask


# %% q7_multi_head_attention
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    """Self-attention of x (batch, T, width): output (batch, T, width), weights (batch, num_heads, T, T)."""
    batch, T, width = x.shape
    if attention_mask is None:
        attention_mask = torch.ones(batch, T)
    q = split_heads(x @ wq, num_heads)
    k = split_heads(x @ wk, num_heads)
    v = split_heads(x @ wv, num_heads)
    scores = q @ k.transpose(-1, -2) / (width // num_heads) ** 0.5
    mask = build_mask(attention_mask, causal)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    weights = weights.nan_to_num(0.0)
    return merge_heads(weights @ v) @ wo, weights


# %% q8_changed
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}
