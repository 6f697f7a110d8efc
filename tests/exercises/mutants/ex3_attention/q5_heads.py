"""Question 5, split_heads and merge_heads. The cells are answers; test_mutants.py says how they are marked.

The solution of question 7 calls both, so most wrong answers here cost question 7 too.
"""
# ruff: noqa: F811

import torch


# %% wrong: reshaped straight to (batch, heads, T, d)
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: that cuts the sequence in two
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, num_heads, T, D // num_heads)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.reshape(B, T, H * d)


# %% wrong: interleaved heads
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: Head 0 has every second number
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, D // num_heads, num_heads).permute(0, 3, 1, 2)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.permute(0, 2, 1, 3).reshape(B, T, H * d)


# %% wrong: the axes of heads and tokens are not exchanged
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: The heads are cut out and stand after the tokens
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.transpose(1, 2).reshape(B, T, H * d)


# %% wrong: merged without moving the heads back
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: You reshaped without moving the heads back
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.reshape(B, T, H * d)


# %% wrong: merged with alternating heads
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: The numbers of the heads alternate
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.permute(0, 2, 3, 1).reshape(B, T, H * d)


# %% wrong: the mean of the heads
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: You took the mean of the heads
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(heads):
    return heads.mean(dim=1)


# %% wrong: sequences mixed up when there are several
# fails: q5_hidden q7_hidden
# says: split_heads is wrong for another size
def split_heads(x, num_heads):
    B, T, D = x.shape
    d = D // num_heads
    return torch.cat(x.split(d, dim=-1)).reshape(B, num_heads, T, d)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.transpose(1, 2).reshape(B, T, H * d)


# %% wrong: two heads, whatever num_heads says
# fails: q5_hidden q7_hidden
# says: merge_heads is wrong for another size
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(heads):
    return torch.cat([heads[:, 0], heads[:, 1]], dim=-1)


# %% wrong: view after transpose
# fails: q5_visible q5_hidden q7_visible q7_hidden
# says: RuntimeError: view size is not compatible
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(heads):
    B, H, T, d = heads.shape
    return heads.transpose(1, 2).view(B, T, H * d)


# %% wrong: the axes of the heads that were given are exchanged in place
# fails: q5_hidden
# says: x or heads was changed
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)


def merge_heads(heads):
    return heads.transpose_(1, 2).flatten(2)


# %% wrong: the parameter is renamed, the body still reads x of the check
# fails: q5_hidden q7_visible q7_hidden
# says: is invalid for input of size 12
def split_heads(vectors, num_heads):
    B, T, D = vectors.shape
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)  # noqa: F821


def merge_heads(heads):
    return heads.transpose(1, 2).flatten(2)


# %% wrong: split takes the size of a part, not the number of parts
# fails: q5_hidden q7_hidden
# says: split_heads is wrong for another size
def split_heads(x, num_heads):
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


def merge_heads(heads):
    return torch.cat(heads.unbind(1), dim=-1)


# %% right: chunks and concatenation
def split_heads(x, num_heads):
    return torch.stack(torch.chunk(x, num_heads, dim=-1), dim=1)


def merge_heads(heads):
    return torch.cat(torch.unbind(heads, dim=1), dim=-1)


# %% right: permute and contiguous
def split_heads(x, num_heads):
    B, T = x.shape[:2]
    return x.view(B, T, num_heads, -1).permute(0, 2, 1, 3).contiguous()


def merge_heads(heads):
    B, T = heads.size(0), heads.size(2)
    return heads.permute(0, 2, 1, 3).contiguous().view(B, T, -1)


# %% right: unflatten and flatten
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).swapaxes(1, 2)


def merge_heads(heads):
    return heads.swapaxes(1, 2).flatten(start_dim=2)


# %% right: filled by loops
def split_heads(x, num_heads):
    B, T, D = x.shape
    d = D // num_heads
    heads = torch.empty(B, num_heads, T, d)
    for h in range(num_heads):
        heads[:, h] = x[:, :, h * d : (h + 1) * d]
    return heads


def merge_heads(heads):
    B, H, T, d = heads.shape
    merged = torch.empty(B, T, H * d)
    for h in range(H):
        merged[..., h * d : (h + 1) * d] = heads[:, h]
    return merged
