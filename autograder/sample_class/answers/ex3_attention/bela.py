"""Right, in loops, because loops are what bela trusts."""

# %% q1_scaled_scores
def scaled_scores(Q, K):
    T, d_k = Q.shape
    scores = np.zeros((T, T))
    for t in range(T):
        for s in range(T):
            scores[t, s] = np.dot(Q[t], K[s]) / d_k**0.5
    return scores


# %% q2_causal_mask
def causal_mask(T):
    mask = np.zeros((T, T), dtype=bool)
    for t in range(T):
        mask[t, : t + 1] = True
    return mask


# %% q3_attention_weights
def attention_weights(scores, mask=None):
    T = scores.shape[0]
    weights = np.zeros((T, T))
    for t in range(T):
        keys = [s for s in range(T) if mask is None or mask[t, s]]
        if not keys:
            continue
        largest = max(scores[t, s] for s in keys)
        for s in keys:
            weights[t, s] = np.exp(scores[t, s] - largest)
        weights[t] /= weights[t].sum()
    return weights


# %% q4_future_weight
def future_weight(weights):
    return np.array([weights[t, t + 1 :].sum() for t in range(len(weights))])


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
    """(batch, T) of 1 and 0 -> boolean (batch, 1, T, T), True where a query may look at a key."""
    batch, T = attention_mask.shape
    mask = attention_mask.bool()[:, None, None, :].expand(batch, 1, T, T)
    if causal:
        mask = mask & torch.tril(torch.ones(T, T)).bool()
    return mask


# %% q7_multi_head_attention
def multi_head_attention(x, wq, wk, wv, wo, num_heads, attention_mask=None, causal=False):
    B, T, D = x.shape
    d = D // num_heads
    if attention_mask is None:
        attention_mask = torch.ones(B, T, dtype=torch.long)
    Q, K, V = x @ wq, x @ wk, x @ wv
    output = torch.zeros(B, T, D)
    weights = torch.zeros(B, num_heads, T, T)
    for b in range(B):
        for h in range(num_heads):
            part = slice(h * d, (h + 1) * d)
            for t in range(T):
                keys = [s for s in range(T) if attention_mask[b, s] == 1 and (s <= t or not causal)]
                if keys:
                    scores = K[b, keys, part] @ Q[b, t, part] / d**0.5
                    weights[b, h, t, keys] = torch.softmax(scores, dim=0)
            output[b, :, part] = weights[b, h] @ V[b, :, part]
    return output @ wo, weights


# %% q8_changed
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}
