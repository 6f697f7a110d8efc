"""Unmasked: encoder-only transformers, small enough to read in an evening.

Import the module you need; `import unmasked` alone loads neither PyTorch nor transformers.

- `unmasked.attention`      masks, scaled dot-product attention, multi-head self-attention
- `unmasked.configuration`  the sizes and choices of an encoder, in the names of a config.json
- `unmasked.encoder`        BERT and RoBERTa: embeddings, blocks, pooler, pretraining heads, loading
- `unmasked.checkpoints`    where pretrained weights are found, and how their files are read
- `unmasked.runtime`        the device to run on, and seeds
- `unmasked.plots`          the figures of the chapters
"""

__version__ = "0.1.0"
