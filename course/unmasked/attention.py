"""Attention: which key may be looked at (masks), how much (weights), and what comes back (context).

From the bottom up: masks, scores, softmax, one attention, many heads, and the layer with its weights.
A mask here is always boolean, and True means "this query may look at this key". Source of all of it:
Vaswani et al. 2017, "Attention Is All You Need", section 3.2; an encoder differs from a decoder only in
the mask, `causal_mask` being what BERT leaves out (Devlin et al. 2019, section 3).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def causal_mask(time: int, device: torch.device | None = None) -> Tensor:
    """The mask of a decoder: position t may look at positions s <= t only.

    Returns a bool tensor `(time, time)`, row = query t, column = key s (Vaswani et al. 2017, section 3.2.3).
    """
    return torch.ones(time, time, dtype=torch.bool, device=device).tril()


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Hides the padding from every query.

    Only the *keys* at padding are hidden. The rows of padding queries are computed all the same and hold
    values; what must not use them (a mean over tokens, a loss) has to leave them out itself.

    Args:
        attention_mask: `(batch, time)`, 1 for a token and 0 for padding, of any integer, bool or float type.

    Returns:
        A bool tensor `(batch, 1, 1, time)`: the same for all heads and all queries.

    Raises:
        ValueError: attention_mask does not have two dimensions.
    """
    if attention_mask.dim() != 2:
        raise ValueError(f"attention_mask must have shape (batch, time), got {tuple(attention_mask.shape)}")
    return attention_mask.bool()[:, None, None, :]


def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """How well each query matches each key: `query @ key.T / sqrt(head_dim)`.

    The dot product of two random vectors grows with their size as sqrt(head_dim); dividing by it keeps
    the softmax out of the region where its gradient vanishes (Vaswani et al. 2017, section 3.2.1).

    Args:
        query: `(..., T_query, head_dim)`.
        key: `(..., T_key, head_dim)`.

    Returns:
        `(..., T_query, T_key)`.
    """
    return query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis, among the entries where mask is True; the others get exactly 0.

    A row with no True at all has nothing to share out: it is all zeros. (A plain softmax over -inf would
    be NaN; over a large negative number, uniform over exactly the entries that were to be hidden.)

    Args:
        scores: `(..., T_query, T_key)`, floating point.
        mask: bool, broadcastable to scores; None hides nothing.

    Returns:
        Weights of the shape of scores; each row sums to 1, or to 0 where its mask has no True.

    Raises:
        ValueError: mask is not bool, or cannot be broadcast to scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    _check_mask(mask, scores.shape)
    # The lowest finite number, not -inf: a row of nothing but -inf would be NaN, in its gradient too.
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    # Until here a row without any True is uniform; in every other row the hidden weights are 0 already.
    return weights.masked_fill(~mask, 0.0)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention, `softmax(query @ key.T / sqrt(head_dim)) @ value`.

    Vaswani et al. 2017, section 3.2.1, equation 1.

    Args:
        query: `(..., T_query, head_dim)`.
        key: `(..., T_key, head_dim)`.
        value: `(..., T_key, value_dim)`.
        mask: bool, broadcastable to `(..., T_query, T_key)`; None hides nothing.

    Returns:
        context `(..., T_query, value_dim)` and weights `(..., T_query, T_key)`.

    Raises:
        ValueError: mask is not bool, or has another shape than the scores.
    """
    weights = masked_softmax(attention_scores(query, key), mask)
    return weights @ value, weights


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cuts each token's vector into equal parts, one a head: `(batch, time, hidden)` becomes
    `(batch, heads, time, head_dim)`, head_dim = hidden / heads.

    Raises:
        ValueError: hidden is not a multiple of num_heads.
    """
    batch, time, hidden = x.shape
    if hidden % num_heads != 0:
        raise ValueError(f"hidden size {hidden} is not a multiple of the number of heads {num_heads}")
    x = x.view(batch, time, num_heads, hidden // num_heads)  # (batch, time, heads, head_dim)
    return x.transpose(1, 2)  # (batch, heads, time, head_dim)


def merge_heads(x: Tensor) -> Tensor:
    """The inverse of `split_heads`: `(batch, heads, time, head_dim)` becomes `(batch, time, hidden)`."""
    x = x.transpose(1, 2)  # (batch, time, heads, head_dim)
    return x.flatten(2)  # (batch, time, hidden)


class SelfAttention(nn.Module):
    """Multi-head self-attention: each token looks at the tokens of its sequence, in several ways at once.

    Vaswani et al. 2017, section 3.2.2: project to queries, keys and values, attend in each head, put the
    heads side by side again, project. As in BERT, all four projections have a bias, and dropout falls on
    the weights.

    Raises:
        ValueError: hidden_size is not a multiple of num_attention_heads.
    """

    def __init__(self, hidden_size: int, num_attention_heads: int, dropout_prob: float = 0.0):
        super().__init__()
        if hidden_size % num_attention_heads != 0:
            raise ValueError(
                f"hidden_size {hidden_size} is not a multiple of num_attention_heads {num_attention_heads}"
            )
        self.num_attention_heads = num_attention_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(
        self, hidden_states: Tensor, mask: Tensor | None = None, output_attentions: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Attends.

        Args:
            hidden_states: `(batch, time, hidden)`.
            mask: bool, broadcastable to `(batch, heads, time, time)`; None hides nothing.
            output_attentions: whether to return the weights too. It takes the longer way, which holds the
                whole weight matrix in memory; the result is the same.

        Returns:
            output `(batch, time, hidden)`, and the weights `(batch, heads, time, time)` as they are before
            dropout, or None.

        Raises:
            ValueError: mask is not bool, or cannot be broadcast.
        """
        heads = self.num_attention_heads
        query = split_heads(self.query(hidden_states), heads)  # (batch, heads, time, head_dim)
        key = split_heads(self.key(hidden_states), heads)
        value = split_heads(self.value(hidden_states), heads)

        if output_attentions:
            weights = masked_softmax(attention_scores(query, key), mask)  # (batch, heads, time, time)
            context = self.dropout(weights) @ value  # (batch, heads, time, head_dim)
        else:
            weights = None
            if mask is not None:
                # PyTorch would add a mask of numbers to the scores, without a word.
                batch, time, _ = hidden_states.shape
                _check_mask(mask, (batch, heads, time, time))
            # `attend` in one fused operation.
            context = F.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, dropout_p=self.dropout.p if self.training else 0.0
            )
        return self.output(merge_heads(context)), weights


def _check_mask(mask: Tensor, scores_shape: tuple[int, ...]) -> None:
    shapes = f"the mask has shape {tuple(mask.shape)}, the scores have shape {tuple(scores_shape)}"
    if mask.dtype != torch.bool:
        raise ValueError(f"a mask must be bool (True = may look), got {mask.dtype}; {shapes}")
    try:
        fits = torch.broadcast_shapes(mask.shape, scores_shape) == tuple(scores_shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"the mask cannot be broadcast to the scores: {shapes}")
