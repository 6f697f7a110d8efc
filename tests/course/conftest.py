"""What the tests of the library share: tiny models of transformers to compare with, and batches for them."""

import os

# Set before huggingface_hub is imported, which reads it once: no test may reach the network.
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
import transformers

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "initializer_range": 0.2,
}
TINY_OF_TYPE = {
    "bert": {"vocab_size": 99, "max_position_embeddings": 512, "type_vocab_size": 2},
    "roberta": {"vocab_size": 97, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1},
}


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """The tests share few cores; several threads would only wait for each other."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def reference():
    """Makes a tiny model of transformers: `reference("BertForMaskedLM", hidden_act="relu")`.

    Every parameter is random, biases and LayerNorms too, so that none can be lost or swapped unnoticed.
    """

    def make(class_name, add_pooling_layer=None, **overrides):
        model_type = "roberta" if class_name.startswith("Roberta") else "bert"
        config_class = getattr(transformers, model_type.capitalize() + "Config")
        config = config_class(**{**TINY, **TINY_OF_TYPE[model_type], **overrides})
        options = {} if add_pooling_layer is None else {"add_pooling_layer": add_pooling_layer}
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(1)
            model = getattr(transformers, class_name)(config, **options).eval()
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn(parameter.shape))
        return model

    return make


@pytest.fixture
def saved(reference, tmp_path):
    """Makes a tiny model as `reference` does and saves it: returns the model and its folder."""

    def make(class_name, **options):
        model = reference(class_name, **options)
        folder = tmp_path / class_name
        model.save_pretrained(folder)
        return model, folder

    return make


@pytest.fixture(scope="session")
def make_batch():
    """Makes input_ids and attention_mask for a configuration, with padding on the left, the right or nowhere.

    Some tokens inside the sequences have the id of the padding, as in a careless corpus: RoBERTa gives
    them the padding's position.
    """

    def make(config, batch, time, padding=None):
        generator = torch.Generator().manual_seed(100 * batch + time)
        input_ids = torch.randint(0, config.vocab_size, (batch, time), generator=generator)
        attention_mask = torch.ones_like(input_ids)
        for row in range(batch):
            pads = (row + 1) * time // (batch + 1) if padding else 0
            where = slice(0, pads) if padding == "left" else slice(time - pads, time)
            input_ids[row, where] = config.pad_token_id
            attention_mask[row, where] = 0
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    return make
