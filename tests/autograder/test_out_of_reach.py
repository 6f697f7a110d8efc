"""What an exercise puts out of reach fails with the reason, and the rest of the library goes on working.

`forbid` has no way back, so each check runs in a process of its own, started by fork: torch is imported once.
"""

import os
import sys
import traceback
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder.errors import AutograderError
from autograder.out_of_reach import MESSAGE, forbid

ATTENTION = [
    "transformers",
    "torch.nn.MultiheadAttention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.attention",
]


def in_a_fork(check: Callable[[], None]) -> None:
    """Run `check` in a child process and fail with its traceback if it fails."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            check()
            os._exit(0)
        except BaseException:
            os.write(write, traceback.format_exc().encode())
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, said


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def refuses(name: str, error: type[Exception], statement: str) -> None:
    with pytest.raises(error) as caught:
        exec(statement, {"torch": torch, "nn": nn, "F": F})
    assert MESSAGE.format(name) in str(caught.value)


@pytest.mark.parametrize(
    "statement", ["import json.tool", "import json", "from json import loads", "import json.decoder as d"]
)
def test_a_module_cannot_be_imported_though_it_was_loaded_before(statement):
    def check():
        import json  # noqa: F401

        forbid(["json"])
        with pytest.raises(ImportError, match="out of reach while grading"):
            exec(statement, {})

    in_a_fork(check)


def test_the_message_names_the_module_and_the_reason():
    def check():
        forbid(["transformers"])
        refuses("transformers", ImportError, "import transformers")
        refuses("transformers", ImportError, "from transformers import BertModel")
        assert "transformers" not in sys.modules

    in_a_fork(check)


def test_a_name_that_only_begins_alike_stays():
    def check():
        forbid(["jso"])
        import json

        assert json.loads("1") == 1

    in_a_fork(check)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("torch.nn.MultiheadAttention", "nn.MultiheadAttention(8, 2)"),
        ("torch.nn.MultiheadAttention", "from torch.nn.modules.activation import MultiheadAttention as M; M(8, 2)"),
        ("torch.nn.MultiheadAttention", "nn.TransformerEncoderLayer(8, 2)"),
        ("torch.nn.MultiheadAttention", "class Mine(nn.MultiheadAttention): pass\nMine(8, 2)"),
        ("torch.nn.functional.scaled_dot_product_attention", "F.scaled_dot_product_attention(1, 1, 1)"),
        ("torch.nn.functional.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention(1, 1, 1)"),
        ("torch.nn.functional.multi_head_attention_forward", "F.multi_head_attention_forward()"),
        ("torch.nn.attention", "torch.nn.attention.sdpa_kernel()"),
    ],
)
def test_a_function_or_class_fails_wherever_its_library_exports_it(name, use):
    def check():
        forbid(ATTENTION)
        refuses(name, RuntimeError, use)

    in_a_fork(check)


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("torch.nn.attention", "import torch.nn.attention"),
        ("torch.nn.attention", "from torch.nn.attention import sdpa_kernel"),
        ("torch.nn.attention", "from torch.nn.attention.flex_attention import flex_attention"),
    ],
)
def test_a_module_inside_a_library_cannot_be_imported(name, statement):
    def check():
        forbid(ATTENTION)
        refuses(name, ImportError, statement)

    in_a_fork(check)


def test_a_method_of_a_class_can_be_put_out_of_reach():
    def check():
        forbid(["torch.Tensor.masked_fill"])
        refuses("torch.Tensor.masked_fill", RuntimeError, "torch.ones(1).masked_fill(torch.tensor([True]), 0)")

    in_a_fork(check)


def test_the_rest_of_torch_goes_on_working():
    def check():
        forbid(ATTENTION)
        layer = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU())
        optimizer = torch.optim.AdamW(layer.parameters())
        layer(torch.randn(2, 4)).softmax(-1).sum().backward()
        optimizer.step()
        twice = torch.compile(lambda x: 2 * x, backend="eager")
        assert twice(torch.ones(2)).tolist() == [2, 2]
        assert not any(isinstance(part, nn.MultiheadAttention) for part in layer.modules())

    in_a_fork(check)


def test_a_library_that_is_not_installed_is_no_error():
    in_a_fork(lambda: forbid(["no_such_library", "no_such_library.attention.Layer"]))


@pytest.mark.parametrize("name", ["torch.nn.MultiHeadAttention", "torch.nm.functional.softmax"])
def test_a_typing_error_in_the_list_is_named(name):
    def check():
        with pytest.raises(AutograderError, match="which does not exist"):
            forbid([name])

    in_a_fork(check)
