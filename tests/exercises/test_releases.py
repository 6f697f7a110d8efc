"""What lies in exercises/ and in the sample class is what its sources give, and nothing of the instructor's."""

import json
from pathlib import Path

import nbformat
import pytest
from cells import ROOT

from autograder.assignment import HIDDEN, SOLUTION, grade_id, is_answer, read_source
from autograder.course import Course
from autograder.lint import lint
from autograder.sample_class.build import SAVED_BY_COLAB, read_answers

ASSIGNMENTS = sorted(path.name for path in (ROOT / "solutions").iterdir() if path.is_dir())
RELEASED = sorted((ROOT / "exercises").rglob("*.ipynb"))
STUDENTS = sorted((ROOT / "autograder/sample_class/answers").glob("*/*.py"))
NEEDED_BY_NBGRADER = {"cell_type", "checksum", "grade", "grade_id", "locked", "points", "schema_version", "solution", "task"}


def secret_lines(assignment: str) -> set[str]:
    """Lines of solutions and of hidden tests, without those that stand in the open too and short ones."""
    secret, open_ = set(), set()
    for source in read_source(ROOT / "solutions" / assignment):
        for cell in source.node.cells:
            regions = [region[0] for pattern in (SOLUTION, HIDDEN) for region in pattern.finditer(cell.source)]
            secret |= {line.strip() for region in regions for line in region.splitlines()[1:-1]}
            open_ |= {line.strip() for line in HIDDEN.sub("", SOLUTION.sub("", cell.source)).splitlines()}
    return {line for line in secret - open_ if len(line) > 15}


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_lint_finds_nothing_and_the_release_is_fresh(assignment):
    assert lint(Course.find(ROOT), assignment) == []


def test_each_assignment_is_released_and_nothing_else_is():
    assert [path.relative_to(ROOT / "exercises").as_posix() for path in RELEASED] == [
        f"{name}/{name}.ipynb" for name in ASSIGNMENTS
    ]


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_no_solution_and_no_hidden_test_is_in_a_release(path: Path):
    secrets = secret_lines(path.parent.name)
    assert len(secrets) > 20
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    assert [line for line in secrets if line in text.splitlines() or f"    {line}" in text] == []
    assert "SOLUTION" not in text and "HIDDEN" not in text


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_no_output_and_no_metadata_beyond_nbgraders_is_in_a_release(path: Path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    for cell in notebook["cells"]:
        assert set(cell) <= {"cell_type", "id", "metadata", "source", "outputs", "execution_count"}
        assert not cell.get("outputs") and cell.get("execution_count") is None
        assert set(cell["metadata"]) <= {"nbgrader"}
        assert set(cell["metadata"].get("nbgrader", {})) <= NEEDED_BY_NBGRADER


@pytest.mark.parametrize("path", STUDENTS, ids=lambda path: path.stem)
def test_a_sample_submission_is_the_release_with_the_students_answers(path: Path):
    student, assignment = path.stem, path.parent.name
    release = nbformat.read(ROOT / f"exercises/{assignment}/{assignment}.ipynb", as_version=4)
    submitted = ROOT / f"autograder/sample_class/submitted/{student}/{assignment}/{assignment}.ipynb"
    raw = json.loads(submitted.read_text(encoding="utf-8"))
    _, answers = read_answers(path)
    cells = {c["metadata"]["nbgrader"]["grade_id"]: c for c in raw["cells"] if "nbgrader" in c["metadata"]}
    for cell in release.cells:
        if name := grade_id(cell):
            assert "".join(cells[name]["source"]) == answers.get(name, cell.source), name
            assert is_answer(cell) or name not in answers
    extra = [title for title in answers if title.startswith("after ")]
    assert len(raw["cells"]) == len(release.cells) + len(extra)
    assert raw["nbformat_minor"] == (0 if student in SAVED_BY_COLAB else 5)
    assert any(cell.get("outputs") for cell in raw["cells"])


def test_the_sample_class_names_no_folder_of_the_machine_that_built_it():
    for path in (ROOT / "autograder/sample_class/submitted").rglob("*.ipynb"):
        assert not [word for word in ("/home/", "/root/", "/Users/", "site-packages") if word in path.read_text()], path
