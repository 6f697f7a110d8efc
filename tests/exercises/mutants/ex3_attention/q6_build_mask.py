"""Question 6, build_mask. The cells of this file are answers; test_mutants.py says how they are marked.

The solution of question 7 calls build_mask, so most wrong answers here cost question 7 too.
"""
# ruff: noqa: F811

import torch


# %% wrong: padding hidden as a query
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: Padding is hidden as a query (a row)
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool()[:, None, :, None].expand(-1, 1, T, T)
    return mask & torch.ones(T, T).tril().bool() if causal else mask


# %% wrong: padding hidden as a key and as a query
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: Padding is hidden as a key and as a query
def build_mask(attention_mask, causal):
    real = attention_mask.bool()
    mask = (real[:, :, None] & real[:, None, :])[:, None]
    return mask & torch.ones(mask.shape[-2:]).tril().bool() if causal else mask


# %% wrong: True hides
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: True has to mean 'may look'
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    hidden = (attention_mask == 0)[:, None, None, :].expand(-1, 1, T, T)
    return hidden | torch.ones(T, T).triu(1).bool() if causal else hidden


# %% wrong: every token may look at itself, padding too
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: A padding position looks at itself here
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool()[:, None, None, :] | torch.eye(T).bool()
    return mask & torch.ones(T, T).tril().bool() if causal else mask


# %% wrong: the axis of the heads is missing
# With three heads in question 7 the batch of two does not fit; with one head or one sequence it does.
# fails: q6_visible q6_hidden q7_hidden
# says: The axis of the heads is missing
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool()[:, None, :].expand(-1, T, T)
    return mask & torch.ones(T, T).tril().bool() if causal else mask


# %% wrong: one row for all queries
# fails: q6_visible q6_hidden
# says: The axis of the queries has length 1
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool()[:, None, None, :]
    return mask & torch.ones(T, T).tril().bool() if causal else mask


# %% wrong: numbers instead of booleans
# In question 7, ~mask turns 1 into -2, which is no mask for masked_fill.
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: expected type bool, got int64
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask[:, None, None, :] * torch.ones(T, T, dtype=torch.long)
    return mask.tril() if causal else mask


# %% wrong: the padding is forgotten when causal
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: The causal rule alone is left
def build_mask(attention_mask, causal):
    B, T = attention_mask.shape
    if causal:
        return torch.ones(T, T).tril().bool().expand(B, 1, T, T)
    return attention_mask.bool()[:, None, None, :].expand(B, 1, T, T)


# %% wrong: causal is forgotten
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: the causal rule is missing
def build_mask(attention_mask, causal):
    B, T = attention_mask.shape
    return attention_mask.bool()[:, None, None, :].expand(B, 1, T, T)


# %% wrong: one of the two rules is enough
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: A key is visible if either rule allows it
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool()[:, None, None, :].expand(-1, 1, T, T)
    return mask | torch.ones(T, T).tril().bool() if causal else mask


# %% wrong: the causal rule has rows and columns exchanged
# fails: q6_visible q6_hidden q7_visible q7_hidden
# says: the causal rule has rows and columns exchanged
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool()[:, None, None, :].expand(-1, 1, T, T)
    return mask & torch.ones(T, T).triu().bool() if causal else mask


# %% wrong: padding is taken to be on the right
# fails: q6_hidden q7_visible q7_hidden
# says: wrong for other padding or another size
def build_mask(attention_mask, causal):
    B, T = attention_mask.shape
    mask = (torch.arange(T) < attention_mask.sum(1, keepdim=True))[:, None, None, :].expand(B, 1, T, T)
    return mask & torch.ones(T, T).tril().bool() if causal else mask


# %% wrong: a batch of one sequence loses its axis
# fails: q6_hidden
# says: wrong for other padding or another size
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    keys = attention_mask.bool().squeeze(0)[..., None, None, :]
    allowed = torch.ones(T, T, dtype=torch.bool)
    return keys & (allowed.tril() if causal else allowed)


# %% wrong: zeros become -1 in the attention mask that was given
# fails: q6_hidden q7_hidden
# says: attention_mask was changed
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    attention_mask[attention_mask == 0] = -1
    allowed = torch.ones(T, T, dtype=torch.bool)
    return (attention_mask > 0)[:, None, None, :] & (allowed.tril() if causal else allowed)


# %% wrong: who would see nobody looks at itself
# fails: q6_hidden q7_visible q7_hidden
# says: wrong for other padding or another size
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    allowed = torch.ones(T, T, dtype=torch.bool)
    mask = attention_mask.bool()[:, None, None, :] & (allowed.tril() if causal else allowed)
    return mask | (~mask.any(dim=-1, keepdim=True) & torch.eye(T).bool())


# %% right: multiplied numbers
def build_mask(attention_mask, causal):
    T = attention_mask.size(1)
    allowed = torch.tril(torch.ones(T, T)) if causal else torch.ones(T, T)
    return attention_mask.view(-1, 1, 1, T) * allowed > 0


# %% right: compared positions
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    position = torch.arange(T)
    in_reach = position[None, :] <= position[:, None] + (0 if causal else T)
    return (attention_mask[:, None, :] == 1).logical_and(in_reach).unsqueeze(1)


# %% right: cell by cell
def build_mask(attention_mask, causal):
    B, T = attention_mask.shape
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool)
    for b in range(B):
        for t in range(T):
            for s in range(T):
                mask[b, 0, t, s] = attention_mask[b, s] == 1 and (s <= t or not causal)
    return mask


# %% right: repeated rows
def build_mask(attention_mask, causal):
    T = attention_mask.shape[1]
    mask = attention_mask.bool().unsqueeze(1).repeat(1, T, 1)
    if causal:
        mask = mask.tril()
    return mask.unsqueeze(1)


# %% right: a copy by torch.tensor, which warns
def build_mask(attention_mask, causal):
    keys = torch.tensor(attention_mask).bool()
    T = keys.shape[1]
    allowed = torch.ones(T, T, dtype=torch.bool)
    return keys[:, None, None, :] & (allowed.tril() if causal else allowed)
