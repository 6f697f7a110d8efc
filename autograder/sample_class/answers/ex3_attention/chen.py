"""Right, with einsum and broadcasting, and with cells of exploration left in."""

# %% q1_scaled_scores
def scaled_scores(Q, K):
    return np.einsum("td,sd->ts", Q, K) * Q.shape[-1] ** -0.5


# %% q2_causal_mask
def causal_mask(T):
    i = np.arange(T)
    return i[:, None] >= i[None, :]


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
    batch, num_heads, T, d = heads.shape
    return heads.transpose(1, 2).reshape(batch, T, num_heads * d)


# %% q6_build_mask
def build_mask(attention_mask, causal):
    i = torch.arange(attention_mask.shape[1])
    past = (i[:, None] >= i) | (not causal)
    return (attention_mask == 1)[:, None, None, :] & past


# %% q7_multi_head_attention
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    if attention_mask is None:
        attention_mask = torch.ones_like(x[..., 0]).long()
    q, k, v = [split_heads(x @ w, num_heads) for w in (wq, wk, wv)]
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) * q.shape[-1] ** -0.5
    mask = build_mask(attention_mask, causal)
    weights = torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return merge_heads(torch.einsum("bhts,bhsd->bhtd", weights, v)) @ wo, weights


# %% q8_changed
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}


# %% after q3_visible
attention_weights(np.array([[1.0, 2, 3]] * 3), causal_mask(3))

# %% after q7_visible
x = torch.randn(2, 4, 8)
out, w = multi_head_attention(x, *(torch.eye(8) for _ in range(4)), num_heads=2)
out.shape, w.shape, w.sum(-1)
