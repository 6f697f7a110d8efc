"""The encoder of BERT and RoBERTa: embeddings, blocks, pooler, and the two pretraining heads.

Token ids go in, one vector a token comes out. `Encoder` is the body; `EncoderForMaskedLM` and
`EncoderForPreTraining` add what it is pretrained with. The blocks are those of Vaswani et al. 2017 (section
3.1: LayerNorm *after* each residual sum); embeddings, pooler and heads those of Devlin et al. 2019 (section
3). RoBERTa (Liu et al. 2019) has the same blocks, and neither segments nor next-sentence prediction. The
numbers are those of transformers' models on the same weights.
"""

from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmasked.attention import SelfAttention, causal_mask, padding_mask
from unmasked.checkpoints import Checkpoint
from unmasked.configuration import ACTIVATIONS, EncoderConfig


class EncoderOutput(NamedTuple):
    """What an `Encoder` returns; a field is None if there is no pooler, or if it was not asked for."""

    last_hidden_state: Tensor  # (batch, time, hidden)
    pooler_output: Tensor | None  # (batch, hidden); not the first hidden state, but a dense layer and tanh of it
    hidden_states: tuple[Tensor, ...] | None  # of the embeddings, then each block: (batch, time, hidden)
    attentions: tuple[Tensor, ...] | None  # of each block: (batch, heads, time, time)


class Embeddings(nn.Module):
    """Word + segment + position, then LayerNorm (Devlin et al. 2019, section 3, figure 2)."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        size, pad = config.hidden_size, config.pad_token_id
        # The row of padding_idx starts at zero and is not trained; RoBERTa has one among its positions too.
        self.word_embeddings = nn.Embedding(config.vocab_size, size, padding_idx=pad)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.position_embeddings = nn.Embedding(
            config.max_position_embeddings, size, padding_idx=pad if config.model_type == "roberta" else None
        )
        self.norm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def position_ids(self, input_ids: Tensor) -> Tensor:
        """The row of the position table for each token, `(batch, time)` or, the same for all, `(1, time)`.

        BERT counts 0, 1, 2, ... whatever the tokens are. RoBERTa (fairseq's make_positions) counts from
        pad_token_id + 1, and tokens only: padding, on either side, has the row pad_token_id.
        """
        if self.config.model_type == "bert":
            return torch.arange(input_ids.shape[1], device=input_ids.device)[None, :]  # (1, time)
        is_token = (input_ids != self.config.pad_token_id).long()
        return is_token.cumsum(dim=1) * is_token + self.config.pad_token_id  # (batch, time)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Ids `(batch, time)` to `(batch, time, hidden)`; without token_type_ids all are of segment 0."""
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings(self.position_ids(input_ids))
        return self.dropout(self.norm(x))


class Block(nn.Module):
    """Self-attention, then a feed-forward net on each token; each added to its input, the sum normalised.

    Vaswani et al. 2017, sections 3.1 and 3.3, with the activation of Devlin et al. 2019 (GELU).
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        size, eps = config.hidden_size, config.layer_norm_eps
        self.attention = SelfAttention(size, config.num_attention_heads, config.attention_probs_dropout_prob)
        self.attention_norm = nn.LayerNorm(size, eps=eps)
        self.intermediate = nn.Linear(size, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.output = nn.Linear(config.intermediate_size, size)
        self.output_norm = nn.LayerNorm(size, eps=eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, output_attentions: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """`(batch, time, hidden)` to the same shape, and the weights as `SelfAttention` returns them."""
        attended, weights = self.attention(x, mask, output_attentions)
        x = self.attention_norm(x + self.dropout(attended))
        transformed = self.output(self.activation(self.intermediate(x)))
        return self.output_norm(x + self.dropout(transformed)), weights


class Pooler(nn.Module):
    """Dense and tanh on the first token, [CLS]. In pretraining, next-sentence prediction alone trains it."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """`(batch, time, hidden)` to `(batch, hidden)`."""
        return torch.tanh(self.dense(hidden_states[:, 0]))


class Encoder(nn.Module):
    """The body of BERT or RoBERTa: embeddings, blocks, and a pooler if asked for."""

    def __init__(self, config: EncoderConfig, with_pooler: bool = True):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.pooler = Pooler(config) if with_pooler else None
        self.apply(_init_weights)

    @classmethod
    def from_pretrained(cls, name_or_folder: str | Path) -> "Encoder":
        """The encoder of any BERT or RoBERTa checkpoint, in eval mode and float32; heads are left out.

        It has a pooler if the checkpoint has one, never one with random weights.

        Raises:
            CheckpointError: the checkpoint cannot be found or read, or does not fit.
            ValueError: its configuration is not supported.
        """
        checkpoint = Checkpoint.load(name_or_folder)
        config = EncoderConfig.from_dict(checkpoint.config)
        return checkpoint.fill(cls(config, with_pooler=checkpoint.has("encoder.pooler")), prefix="encoder.")

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        causal: bool = False,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> EncoderOutput:
        """Encodes.

        Args:
            input_ids: `(batch, time)`, integers.
            attention_mask: `(batch, time)`, 1 for a token and 0 for padding; None if there is no padding.
            token_type_ids: `(batch, time)`, integers, each token's segment; None if all are of segment 0.
            causal: whether each token sees only itself and what is before it, as in a decoder. No BERT is
                trained so; it is here to compare.
            output_hidden_states: whether to return every block's output.
            output_attentions: whether to return every block's attention weights.

        Raises:
            ValueError: a shape or a type is wrong, a sequence is too long, or an id is outside its table.
        """
        _check_inputs(self.config, input_ids, attention_mask, token_type_ids)
        mask = None if attention_mask is None else padding_mask(attention_mask)  # (batch, 1, 1, time)
        if causal:
            past = causal_mask(input_ids.shape[1], device=input_ids.device)  # (time, time)
            mask = past if mask is None else mask & past  # (batch, 1, time, time)

        x = self.embeddings(input_ids, token_type_ids)  # (batch, time, hidden)
        hidden_states = (x,) if output_hidden_states else None
        attentions = () if output_attentions else None
        for block in self.blocks:
            x, weights = block(x, mask, output_attentions)
            if output_hidden_states:
                hidden_states += (x,)
            if output_attentions:
                attentions += (weights,)
        return EncoderOutput(x, None if self.pooler is None else self.pooler(x), hidden_states, attentions)


class MLMHead(nn.Module):
    """Scores every word at every position: `(batch, time, hidden)` to `(batch, time, vocab)`.

    The decoder's weight *is* the table of word embeddings, unless tie_word_embeddings is false; the bias is
    its own. From Devlin et al.'s code (run_pretraining.py); their paper does not describe the head.
    """

    def __init__(self, config: EncoderConfig, word_embeddings: nn.Embedding):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        # RoBERTa's head has GELU, whatever hidden_act says of its blocks.
        self.activation = F.gelu if config.model_type == "roberta" else ACTIVATIONS[config.hidden_act]
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.apply(_init_weights)
        if config.tie_word_embeddings:
            self.decoder.weight = word_embeddings.weight

    def forward(self, hidden_states: Tensor) -> Tensor:
        return self.decoder(self.norm(self.activation(self.dense(hidden_states))))


class MaskedLMOutput(NamedTuple):
    """What an `EncoderForMaskedLM` returns."""

    logits: Tensor  # (batch, time, vocab)
    encoder: EncoderOutput


class EncoderForMaskedLM(nn.Module):
    """An encoder, without pooler, that predicts masked words (Devlin et al. 2019, section 3.1, task 1)."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.encoder = Encoder(config, with_pooler=False)
        self.mlm_head = MLMHead(config, self.encoder.embeddings.word_embeddings)

    @classmethod
    def from_pretrained(cls, name_or_folder: str | Path) -> "EncoderForMaskedLM":
        """As `Encoder.from_pretrained`; a checkpoint without this head raises CheckpointError."""
        checkpoint = Checkpoint.load(name_or_folder)
        config = EncoderConfig.from_dict(checkpoint.config)
        checkpoint.require("mlm_head", "masked-word (MLM) head", otherwise="Encoder")
        return checkpoint.fill(cls(config))

    def forward(self, *inputs: Tensor, **options) -> MaskedLMOutput:
        """Takes what `Encoder.forward` takes."""
        encoded = self.encoder(*inputs, **options)
        return MaskedLMOutput(self.mlm_head(encoded.last_hidden_state), encoded)


class PreTrainingOutput(NamedTuple):
    """What an `EncoderForPreTraining` returns."""

    prediction_logits: Tensor  # (batch, time, vocab)
    seq_relationship_logits: Tensor  # (batch, 2): index 0 is "B follows A", 1 is "B is from elsewhere"
    encoder: EncoderOutput


class EncoderForPreTraining(nn.Module):
    """BERT as it is pretrained: masked words and next sentences (Devlin et al. 2019, section 3.1).

    Raises:
        ValueError: the configuration is a RoBERTa's, which has no next-sentence prediction.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        if config.model_type == "roberta":
            raise ValueError("RoBERTa has no next-sentence prediction: use EncoderForMaskedLM")
        self.encoder = Encoder(config)
        self.mlm_head = MLMHead(config, self.encoder.embeddings.word_embeddings)
        self.nsp_head = nn.Linear(config.hidden_size, 2).apply(_init_weights)

    @classmethod
    def from_pretrained(cls, name_or_folder: str | Path) -> "EncoderForPreTraining":
        """As `Encoder.from_pretrained`; a checkpoint without both heads raises CheckpointError."""
        checkpoint = Checkpoint.load(name_or_folder)
        config = EncoderConfig.from_dict(checkpoint.config)
        checkpoint.require("mlm_head", "masked-word (MLM) head", otherwise="Encoder")
        checkpoint.require("nsp_head", "next-sentence (NSP) head", otherwise="EncoderForMaskedLM")
        return checkpoint.fill(cls(config))

    def forward(self, *inputs: Tensor, **options) -> PreTrainingOutput:
        """Takes what `Encoder.forward` takes."""
        encoded = self.encoder(*inputs, **options)
        words = self.mlm_head(encoded.last_hidden_state)
        return PreTrainingOutput(words, self.nsp_head(encoded.pooler_output), encoded)


def _init_weights(module: nn.Module) -> None:
    # Devlin et al.'s code: normal with standard deviation 0.02 (theirs cut off at two of them), biases zero.
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        nn.init.zeros_(module.weight[module.padding_idx])


def _check_inputs(
    config: EncoderConfig, input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None
) -> None:
    shape = tuple(input_ids.shape)
    if len(shape) != 2:
        raise ValueError(f"input_ids must have shape (batch, time), got {shape}")
    if not 1 <= shape[1] <= config.max_length:
        raise ValueError(f"input_ids has {shape[1]} tokens a sequence: this model takes 1 to {config.max_length}")
    for name, other in (("attention_mask", attention_mask), ("token_type_ids", token_type_ids)):
        if other is not None and tuple(other.shape) != shape:
            raise ValueError(f"{name} has shape {tuple(other.shape)}, input_ids has {shape}")
    _check_ids("input_ids", input_ids, "vocab_size", config.vocab_size)
    if token_type_ids is not None:
        _check_ids("token_type_ids", token_type_ids, "type_vocab_size", config.type_vocab_size)


def _check_ids(name: str, ids: Tensor, size_name: str, size: int) -> None:
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name} must be int64 or int32, got {ids.dtype}")
    # An id outside its table would be a bare IndexError on a CPU, and on a GPU the end of the session.
    outside = ids[(ids < 0) | (ids >= size)]
    if outside.numel() > 0:
        raise ValueError(f"{name} has {outside[0].item()}: with {size_name}={size}, ids go from 0 to {size - 1}")
