"""Exercise 3: what its card says is what its cells do, and its answers are true. Wrong answers: test_mutants.py."""

import ast
import re

import numpy as np
import pytest
import torch
from cells import ROOT, solution
from test_mutants import WRONG

from autograder import twins
from autograder.assignment import HIDDEN, grade_id, is_answer, is_test, points, visible_part

NAME = "ex3_attention"


@pytest.fixture(scope="module")
def cells():
    return solution(NAME).node.cells


@pytest.fixture(scope="module")
def answers(cells):
    """The solution's functions, by name."""
    namespace = {"np": np, "torch": torch}
    for cell in cells:
        if is_answer(cell):
            exec(cell.source, namespace)
    return namespace


def test_the_notebook_is_what_its_text_twin_says():
    assert twins.differences(ROOT / "solutions" / NAME / f"{NAME}.md") == []


def test_the_table_of_points_is_what_the_cells_give(cells):
    table = dict(re.findall(r"^\| (\d) \| .+ \| (\d+) \|$", cells[0].source, re.M))
    given = {}
    for cell in filter(is_test, cells):
        question = grade_id(cell)[1]
        given[question] = given.get(question, 0) + points(cell)
    assert {question: float(worth) for question, worth in table.items()} == given
    assert f"**{sum(given.values()):.0f}**" in cells[0].source and sum(given.values()) == 20


def test_every_question_has_three_folded_hints(cells):
    for number in range(1, 9):
        (statement,) = (c.source for c in cells if c.source.startswith(f"## Question {number}"))
        assert re.findall(r"<details><summary>(.+?)</summary>", statement) == ["Hint 1", "Hint 2", "Hint 3"]
        assert statement.count("</details>") == 3


def test_no_cell_is_longer_than_a_screen(cells):
    lines = {cell.id: len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code"}
    assert {name: count for name, count in lines.items() if count > 40} == {}


def test_hidden_tests_say_what_they_check_and_give_a_hint_and_no_data(cells):
    for cell in filter(is_test, cells):
        if hidden := HIDDEN.search(cell.source):
            name, hint = visible_part(cell.source).splitlines()[:2]
            assert name.startswith("# Hidden tests: ") and hint.startswith("# Hint: ")
            for node in ast.walk(ast.parse(hidden[0])):
                assert not isinstance(node, ast.Assert) or isinstance(node.msg, ast.Constant), grade_id(cell)


def test_the_release_holds_neither_solutions_nor_hidden_tests(released):
    source = "\n".join(cell.source for cell in released(NAME).node.cells)
    assert "SOLUTION" not in source and "HIDDEN TESTS" not in source
    assert source.count("raise NotImplementedError()") == 10  # nine answers, and once in the card


def test_each_name_out_of_reach_is_on_the_card_and_tried_by_a_wrong_answer(cells):
    tried = " ".join(mutant.says for mutant in WRONG if mutant.assignment == NAME)
    for name in solution(NAME).out_of_reach:
        assert f"{name} is what this exercise asks you to write" in tried
        assert f"`{name}`" in cells[0].source or f"`{name.rpartition('.')[2]}`" in cells[0].source


def test_the_listing_of_the_course_gives_what_the_exercise_says(answers):
    rng = np.random.default_rng(0)
    T, d_k = 6, 4
    Q, K = rng.standard_normal((T, d_k)), rng.standard_normal((T, d_k))
    scores = Q @ K.T / np.sqrt(d_k)
    masked = np.where(np.tril(np.ones((T, T))) == 1, scores, -1e9)
    rows = [np.exp(s - s.max(-1, keepdims=True)) for s in (scores, masked)]
    both_ways, causal = (r / r.sum(-1, keepdims=True) for r in rows)
    assert round(both_ways[0, 1:].sum(), 3) == 0.888 and causal[0, 1:].sum() == 0
    np.testing.assert_allclose(answers["scaled_scores"](Q, K), scores)
    np.testing.assert_allclose(answers["attention_weights"](scores), both_ways)
    np.testing.assert_allclose(answers["attention_weights"](scores, answers["causal_mask"](T)), causal)


def test_the_layer_is_that_of_torch(answers):
    torch.manual_seed(0)
    x, attention_mask = torch.randn(2, 5, 12), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    layer = torch.nn.MultiheadAttention(12, 3, bias=False, batch_first=True).eval()
    matrices = [w.T.detach() for w in (*layer.in_proj_weight.chunk(3), layer.out_proj.weight)]
    for causal in (False, True):
        hidden = torch.ones(5, 5).triu(1).bool() if causal else None
        wanted, weights = layer(x, x, x, attention_mask == 0, attn_mask=hidden, average_attn_weights=False)
        found, found_weights = answers["multi_head_attention"](x, *matrices, 3, attention_mask, causal)
        torch.testing.assert_close(found, wanted.detach(), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(found_weights, weights.detach(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("answer", "replaced", "attention_mask", "causal"),
    [
        ("changed_causal", 2, None, True),
        ("changed_bidirectional", 2, None, False),
        ("changed_padding", 5, torch.tensor([[1, 1, 1, 1, 0, 0]]), False),
    ],
)
def test_the_answers_of_question_8_are_what_the_layer_does(answers, answer, replaced, attention_mask, causal):
    torch.manual_seed(0)
    x, matrices = torch.randn(1, 6, 8), torch.randn(4, 8, 8) / 8**0.5
    other = x.clone()
    other[0, replaced] = torch.randn(8)
    before, after = (
        answers["multi_head_attention"](vectors, *matrices, 2, attention_mask, causal)[0] for vectors in (x, other)
    )
    assert set((before - after)[0].abs().sum(-1).nonzero().flatten().tolist()) == answers[answer]
