"""The tests of the assignments are tested: wrong answers lose the right points, right ones get full marks.

mutants/ASSIGNMENT/QUESTION_name.py holds answers to one question, each a cell that begins with its name.
A wrong answer says which test cells must fail, all others must pass, and what one of them must say:

    # %% wrong: the scale is forgotten
    # fails: q1_visible q1_hidden
    # says: the scores without the scale
    def scaled_scores(Q, K):
        return Q @ K.T

    # %% right: einsum
    def scaled_scores(Q, K): ...

The answer takes the place of the question's answer cell; the other questions keep the solution.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from cells import Outcome, run, solution

from autograder.assignment import grade_id, is_answer, is_test, visible_part

FOLDER = Path(__file__).parent / "mutants"
ASSIGNMENTS = sorted(path.name for path in FOLDER.iterdir() if any(path.glob("q*.py")))


@dataclass(frozen=True)
class Mutant:
    """One answer, wrong or right, to one question."""

    assignment: str
    question: str  # "q1"
    name: str
    source: str
    fails: frozenset[str]  # grade_ids of test cells; empty for a right answer
    says: str

    def __str__(self) -> str:
        return f"{self.assignment}-{self.question}-{self.name}"


def read_mutants(path: Path) -> list[Mutant]:
    """The answers in one file of mutants/."""
    found = []
    for cell in path.read_text(encoding="utf-8").split("\n# %% ")[1:]:
        title, _, source = cell.partition("\n")
        kind, _, name = title.partition(": ")
        fails, says = (re.search(rf"^# {label}: (.+)$", source, re.M) for label in ("fails", "says"))
        assert kind in ("wrong", "right") and (kind == "wrong") == bool(fails and says), f"{path}: '{title}'"
        found.append(
            Mutant(
                assignment=path.parent.name,
                question=path.stem.partition("_")[0],
                name=name,
                source=source,
                fails=frozenset(fails[1].split()) if fails else frozenset(),
                says=says[1] if says else "",
            )
        )
    return found


MUTANTS = [m for name in ASSIGNMENTS for path in sorted((FOLDER / name).glob("q*.py")) for m in read_mutants(path)]
WRONG = [m for m in MUTANTS if m.fails]
RIGHT = [m for m in MUTANTS if not m.fails]


@cache
def outcomes(mutant: Mutant) -> dict[str, Outcome]:
    """How the cells end with this answer in place of the solution's; run once, asked by several tests."""
    source = solution(mutant.assignment)
    answers = [grade_id(cell) for cell in source.node.cells if is_answer(cell)]
    (answer,) = (name for name in answers if name.startswith(mutant.question + "_"))
    return run(source, {answer: mutant.source})


def failed(found: dict[str, Outcome], tests: set[str]) -> set[str]:
    return {name for name in tests if not found[name].passed}


def graded_cells(assignment: str) -> set[str]:
    return {grade_id(cell) for cell in solution(assignment).node.cells if is_test(cell)}


@pytest.mark.parametrize("mutant", WRONG, ids=str)
def test_a_wrong_answer_fails_exactly_the_tests_it_should_and_is_told_why(mutant):
    found, tests = outcomes(mutant), graded_cells(mutant.assignment)
    assert failed(found, tests) == mutant.fails, {name: found[name].error for name in sorted(failed(found, tests))}
    said = [found[name].error for name in found if name.startswith(mutant.question + "_")]
    assert any(mutant.says in error for error in said), said


@pytest.mark.parametrize("mutant", RIGHT, ids=str)
def test_a_right_answer_in_another_style_passes_everything_without_a_warning(mutant):
    found, tests = outcomes(mutant), graded_cells(mutant.assignment)
    assert not failed(found, tests), {name: found[name].error for name in failed(found, tests)}
    assert not any(found[name].stderr for name in tests), "plain nbgrader gives 0 to a test that writes to stderr"


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_the_solution_passes_everything(assignment):
    found = run(solution(assignment), {})
    assert not failed(found, set(found)), found


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("stub", ["as released", "returns None"])
def test_an_unanswered_notebook_passes_nothing(assignment, stub, released):
    answers = {grade_id(c): c.source for c in released(assignment).node.cells if is_answer(c)}
    assert all("raise NotImplementedError()" in source for source in answers.values())
    if stub == "returns None":
        answers = {name: source.replace("raise NotImplementedError()", "pass") for name, source in answers.items()}
    found, tests = run(solution(assignment), answers), graded_cells(assignment)
    assert failed(found, tests) == tests


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_every_diagnosis_of_a_visible_test_is_seen_by_some_wrong_answer(assignment):
    said = "\n".join(o.error for m in WRONG if m.assignment == assignment for o in outcomes(m).values())
    dead = [text for text in diagnoses(assignment) if text not in said]
    assert not dead, dead


def diagnoses(assignment: str) -> list[str]:
    """What the visible tests may say: messages of assertions and the keys of dictionaries of mistakes."""
    found = []
    for cell in solution(assignment).node.cells:
        if is_test(cell):
            for node in ast.walk(ast.parse(visible_part(cell.source))):
                texts = node.keys if isinstance(node, ast.Dict) else [node.msg] if isinstance(node, ast.Assert) else []
                parts = [part for text in texts if text for part in ast.walk(text)]
                constants = [part.value for part in parts if isinstance(part, ast.Constant)]
                found += [text for text in constants if isinstance(text, str) and len(text) > 1]
    return found


@pytest.mark.parametrize("end", ["import os; os._exit(0)", "while True: pass", "raise SystemExit"])
def test_the_runner_outlives_answers_that_end_or_never_do(end):
    found = run(solution("ex3_attention"), {"q2_causal_mask": end}, seconds=1)
    assert found["q1_hidden"].passed and not found["q2_visible"].passed and not found["q2_hidden"].passed
