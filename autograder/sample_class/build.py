"""Builds the sample class: from answers/ASSIGNMENT/STUDENT.py to submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb.

    python autograder/sample_class/build.py

A student's file opens with a docstring that says what kind of submission it is. Its cells follow:
`# %% q1_scaled_scores` replaces that answer cell of the release, `# %% after q3_visible` adds a cell of the
student's own behind that one. The notebook is then run from top to bottom, past its errors, because that is
how it lies on a student's disk: with outputs.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from autograder.twins import execute

HERE = Path(__file__).parent
RELEASES = HERE.parents[1] / "exercises"
SAVED_BY_COLAB = {"vera"}


def read_answers(path: Path) -> tuple[str, dict[str, str]]:
    """What a student's file says: its docstring, and the cells by their titles."""
    head, *cells = re.split(r"^# %% (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return head.strip().strip('"'), dict(zip(cells[::2], map(str.strip, cells[1::2]), strict=True))


def fill_in(notebook: nbformat.NotebookNode, answers: dict[str, str]) -> None:
    """Put answers into their cells, and the student's own cells behind those they are to follow."""
    by_title = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    for title, source in answers.items():
        place = by_title[title.removeprefix("after ")]
        if title.startswith("after "):
            extra = new_code_cell(source, id=f"own-{title.removeprefix('after ')}")
            notebook.cells.insert(notebook.cells.index(place) + 1, extra)
        else:
            place.source = source


def as_colab_saves(notebook: nbformat.NotebookNode) -> None:
    """Colab writes nbformat 4.0, moves cell ids into the metadata and adds keys of its own."""
    notebook.nbformat_minor = 0
    notebook.metadata["colab"] = {"provenance": []}
    for cell in notebook.cells:
        cell.metadata["id"] = cell.pop("id")
        if cell.cell_type == "code":
            cell.metadata["outputId"] = "c0ffee00-0000-4000-8000-000000000000"


def hide_paths(notebook: nbformat.NotebookNode) -> None:
    """Take the folders of the machine that built the notebook out of its tracebacks."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [line.replace(sys.prefix, "~/.venv") for line in output.traceback]


def build(path: Path) -> Path:
    """Write one student's submission and return its path."""
    student, assignment = path.stem, path.parent.name
    notebook = nbformat.read(RELEASES / assignment / f"{assignment}.ipynb", as_version=4)
    fill_in(notebook, read_answers(path)[1])
    execute(notebook, path.parent, allow_errors=True)
    hide_paths(notebook)
    if student in SAVED_BY_COLAB:
        as_colab_saves(notebook)
    target = HERE / "submitted" / student / assignment / f"{assignment}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    for answers in sorted(HERE.glob("answers/*/*.py")):
        print(build(answers).relative_to(HERE), flush=True)
