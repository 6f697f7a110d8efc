"""Rebuilds a submitted notebook on the instructor's: their cells, the student's answers and extra code.

Colab, VS Code, an LMS and copy and paste lose nbgrader's metadata, double cells, delete tests and lock
nothing. So nothing of the student's notebook decides anything but the sources of its cells. An answer is
found by its grade_id, else by its cell id, else by a comment that names it, else by the names it defines.
"""

import re
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from autograder.assignment import grade_id, is_answer, is_graded, names_bound

RULES = ("its grade_id", "its cell id", "a comment that names it", "the names that it defines")
ANSWERED_ELSEWHERE = "# What is asked here is defined in another cell."


@dataclass(frozen=True)
class Rebuilt:
    """A notebook to grade, how each answer was found (`matched`: grade_id -> rule), and remarks for the student."""

    notebook: NotebookNode
    matched: dict[str, str]
    remarks: tuple[str, ...]


def rebuild(release: NotebookNode, names: dict[str, set[str]], submitted: NotebookNode) -> Rebuilt:
    """The release with the answers of a submission in it.

    Args:
        release: what students were given; its cells, tags and metadata are those of the result.
        names: for each answer cell's grade_id, the names that its solution defines.
        submitted: the student's notebook, of whatever shape (nbformat 4).

    The student's own code cells run where they stood: behind the cell of the release that they followed.
    """
    copied = {id(cell): _copied(cell, release) for cell in submitted.cells}
    candidates = [c for c in submitted.cells if copied[id(c)] is None or is_answer(copied[id(c)])]
    found, remarks = _find_answers([c for c in release.cells if is_answer(c)], names, candidates)
    own = {id(cell): place for place, (cell, _) in found.items()}
    extra: dict[str, list[NotebookNode]] = {}
    place = release.cells[0].id
    for cell in submitted.cells:
        original = copied[id(cell)]
        if id(cell) in own:
            place = own[id(cell)]
        elif original is not None and not (is_answer(original) and _differ(cell, original)):
            place = original.id
        elif cell.cell_type == "code" and cell.source.strip():
            extra.setdefault(place, []).append(cell)

    notebook = nbformat.from_dict({**release, "cells": []})
    for cell in release.cells:
        copy = nbformat.from_dict(cell)
        if is_answer(cell):
            copy.source = _answer(cell, found, names, candidates)
        notebook.cells.append(copy)
        for number, code in enumerate(extra.get(cell.id, []), 1):
            notebook.cells.append(nbformat.v4.new_code_cell(code.source, id=f"{cell.id[:50]}-own-{number}"))

    present = {grade_id(cell) for cell in submitted.cells}
    tests = [grade_id(cell) for cell in release.cells if is_graded(cell) and not is_answer(cell)]
    by_metadata = any(rule == RULES[0] for _, rule in found.values())
    if by_metadata and (deleted := [test for test in tests if test not in present]):
        remarks.append(f"Test cells were missing and have been put back: {', '.join(deleted)}.")
    matched = {grade_id(cell): found[cell.id][1] for cell in release.cells if cell.id in found}
    return Rebuilt(notebook, matched, tuple(remarks))


def _find_answers(
    answers: list[NotebookNode], names: dict[str, set[str]], cells: list[NotebookNode]
) -> tuple[dict[str, tuple[NotebookNode, str]], list[str]]:
    """For each answer's cell id, the student's cell and the rule that found it; a rule goes before the next."""
    found: dict[str, tuple[NotebookNode, str]] = {}
    remarks: list[str] = []
    tests = (
        lambda cell, answer: grade_id(cell) == grade_id(answer),
        lambda cell, answer: _cell_id(cell) == answer.id,
        lambda cell, answer: re.search(rf"#.*\b{re.escape(grade_id(answer))}\b", cell.source),
        lambda cell, answer: names[grade_id(answer)] and names[grade_id(answer)] <= names_bound(cell),
    )
    for rule, matches in zip(RULES, tests, strict=True):
        for answer in answers:
            if answer.id in found and _differ(found[answer.id][0], answer):
                continue  # an answer that was worked on; an untouched one gives way to work done elsewhere
            taken = {id(cell) for place, (cell, _) in found.items() if place != answer.id}
            those = [cell for cell in cells if id(cell) not in taken and cell.cell_type == answer.cell_type]
            those = [cell for cell in those if matches(cell, answer)]
            changed = [cell for cell in those if _differ(cell, answer)]
            if those and (changed or answer.id not in found):
                found[answer.id] = (changed or those)[-1], rule
            if len(changed) > 1:
                remarks.append(f"{grade_id(answer)} stands in {len(changed)} cells; the last of them is graded.")
    for answer in answers:
        _, rule = found.get(answer.id, (None, None))
        if rule is None:
            remarks.append(f"No cell was found that answers {grade_id(answer)}.")
        elif rule != RULES[0]:
            remarks.append(f"{grade_id(answer)} was found by {rule}.")
    return found, remarks


def _answer(
    cell: NotebookNode,
    found: dict[str, tuple[NotebookNode, str]],
    names: dict[str, set[str]],
    cells: list[NotebookNode],
) -> str:
    """The source for an answer cell. A stub must not undo what another cell of the student's defines."""
    if cell.id in found:
        return found[cell.id][0].source
    wanted = names[grade_id(cell)]
    elsewhere = cell.cell_type == "code" and wanted and any(wanted <= names_bound(other) for other in cells)
    return ANSWERED_ELSEWHERE if elsewhere else cell.source


def _copied(cell: NotebookNode, release: NotebookNode) -> NotebookNode | None:
    """The cell of the release that a student's cell is, changed or not; None for one of the student's own."""
    for original in release.cells:
        same = grade_id(cell) and grade_id(cell) == grade_id(original)
        if same or _cell_id(cell) == original.id or not _differ(cell, original):
            return original
    return None


def _differ(cell: NotebookNode, original: NotebookNode) -> bool:
    return cell.source.strip() != original.source.strip()


def _cell_id(cell: NotebookNode) -> str:
    """A cell's id, where nbformat 4.5 has it or where Colab puts it."""
    return str(cell.metadata.get("id") or cell.get("id", ""))
