"""A small assignment for the tests: two questions in plain Python, and submissions to it."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.course import Course

REPO = Path(__file__).parents[2]


def nbgrader(grade_id: str, *, solution=False, points=None, locked=True) -> dict:
    settings = {"grade_id": grade_id, "schema_version": 3, "solution": solution, "locked": locked, "task": False}
    settings["grade"] = points is not None
    return {"nbgrader": settings | ({"points": points} if points is not None else {})}


def code(source: str, metadata: dict | None = None):
    cell = new_code_cell(source, metadata=metadata or {})
    cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", cell.id)
    return cell


def source_cells() -> list:
    """The cells of a source notebook: double(x), worth 1 + 1 points, and a word, worth 2."""
    return [
        new_markdown_cell("# Doubling", id="doubling"),
        code("import math\nOUT_OF_REACH = ['fractions']", nbgrader("setup") | {"tags": ["setup"]}),
        code(
            "def double(x):\n    ### BEGIN SOLUTION\n    return secret_two * x\n    ### END SOLUTION\n"
            "### BEGIN SOLUTION\nsecret_two = 2\n### END SOLUTION",
            nbgrader("q1_double", solution=True, locked=False),
        ),
        code("assert double(2) == 4, 'double(2) is 4'", nbgrader("q1_visible", points=1)),
        code(
            "# Hidden tests: negative numbers\n### BEGIN HIDDEN TESTS\n"
            "assert double(-31337) == -62674, 'hidden words'\n### END HIDDEN TESTS",
            nbgrader("q1_hidden", points=1),
        ),
        code(
            "### BEGIN SOLUTION\nword = 'encoder'\n### END SOLUTION",
            nbgrader("q2_word", solution=True, locked=False),
        ),
        code(
            "assert isinstance(word, str), 'word is a string'\n### BEGIN HIDDEN TESTS\n"
            "# Why: it encodes\nassert word == 'encoder', 'the hidden answer'\n### END HIDDEN TESTS",
            nbgrader("q2_visible", points=2),
        ),
    ]


def write(path: Path, cells: list) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    nbformat.write(notebook, path)
    return path


def submit(course: Course, student: str, answers: dict[str, str]) -> Path:
    """Hand in the release with some answer cells filled in."""
    notebook = nbformat.read(course.folder("release") / "tiny/tiny.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.id in answers or cell.metadata.get("nbgrader", {}).get("grade_id") in answers:
            cell.source = answers[cell.metadata.nbgrader.grade_id]
    return write(course.folder("submitted") / student / "tiny" / "tiny.ipynb", notebook.cells)


RIGHT = {"q1_double": "def double(x):\n    return x + x", "q2_word": "word = 'encoder'"}
