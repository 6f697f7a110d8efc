"""From a folder of submissions in nbgrader's layout (student/assignment/notebook.ipynb) to notebooks to grade."""

from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from autograder.assignment import SourceNotebook, read_notebook
from autograder.errors import AutograderError
from autograder.matching import Rebuilt, rebuild


@dataclass(frozen=True)
class Submission:
    """One student's files for one assignment."""

    student: str
    assignment: str
    folder: Path


def collect(folder: Path, assignments: list[str]) -> list[Submission]:
    """The submissions to `assignments` in `folder`, ordered by student.

    Raises:
        AutograderError: the folder does not exist, holds no submission to any of the assignments, or has a
            notebook where none belongs, so that a student would be left out unseen.
    """
    if not folder.is_dir():
        raise AutograderError(f"{folder} is not a folder.", "Name the folder of submissions with --submissions.")
    found = [
        Submission(student.name, assignment, student / assignment)
        for student in sorted(folder.iterdir())
        for assignment in assignments
        if (student / assignment).is_dir() and not student.name.startswith(".")
    ]
    for path in sorted(folder.glob("*/*.ipynb")):
        raise AutograderError(
            f"{path} does not lie in the folder of an assignment.",
            f"nbgrader's layout is {folder.name}/{path.parent.name}/{assignments[0]}/{path.name}.",
        )
    if not found:
        raise AutograderError(
            f"{folder} holds no submission to {' or '.join(assignments)}.",
            f"nbgrader's layout is {folder.name}/STUDENT/{assignments[0]}/{assignments[0]}.ipynb.",
        )
    return found


def open_submission(submission: Submission, source: SourceNotebook, release: NotebookNode) -> Rebuilt:
    """A submitted notebook, rebuilt on the release; the remarks say what had to be repaired.

    Raises:
        AutograderError: it is not there, cannot be read, or holds nothing that answers any question.
    """
    path, remarks = _notebook_file(submission.folder, source.name)
    rebuilt = rebuild(release, source.answer_names, read_notebook(path))
    if source.answer_names and not rebuilt.matched:
        raise AutograderError(
            f"{path} holds no answer to any question of {source.name}.",
            "Copy the answers into a fresh copy of the assignment and hand that in.",
        )
    return Rebuilt(rebuilt.notebook, rebuilt.matched, (*remarks, *rebuilt.remarks))


def _notebook_file(folder: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    """The file of a notebook: under its own name, or the only notebook there ("name (1).ipynb")."""
    if (folder / f"{name}.ipynb").exists():
        return folder / f"{name}.ipynb", ()
    others = sorted(folder.glob("*.ipynb"))
    if len(others) == 1:
        return others[0], (f"The file was named {others[0].name}.",)
    there = f"; it holds {', '.join(path.name for path in others)}" if others else ""
    raise AutograderError(f"{folder} holds no {name}.ipynb{there}.", f"Hand in one notebook, named {name}.ipynb.")
