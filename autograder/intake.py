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


def notebook_file(
    submission: Submission, source: SourceNotebook, sources: tuple[SourceNotebook, ...]
) -> tuple[Path, tuple[str, ...]]:
    """The file of one of an assignment's notebooks, and a remark if it has another name ("name (1).ipynb").

    Raises:
        AutograderError: it is not there, or it could be one of several.
    """
    path = submission.folder / f"{source.name}.ipynb"
    if path.exists():
        return path, ()
    strangers = sorted(
        set(submission.folder.glob("*.ipynb")) - {submission.folder / f"{s.name}.ipynb" for s in sources}
    )
    likely = [other for other in strangers if other.stem.startswith(source.name)] or strangers
    if len(likely) == 1:
        return likely[0], (f"The file was named {likely[0].name}.",)
    there = f"; it holds {', '.join(other.name for other in likely)}" if likely else ""
    raise AutograderError(
        f"{submission.folder} holds no {path.name}{there}.", f"Hand in one notebook, named {path.name}."
    )


def open_submission(path: Path, source: SourceNotebook, release: NotebookNode) -> Rebuilt:
    """A submitted notebook, rebuilt on the release; the remarks say what had to be repaired.

    Raises:
        AutograderError: it cannot be read, or holds nothing that answers any question.
    """
    rebuilt = rebuild(release, source.answer_names, read_notebook(path))
    if source.answer_names and not rebuilt.matched:
        raise AutograderError(
            f"{path} holds no answer to any question of {source.name}.",
            "Copy the answers into a fresh copy of the assignment and hand that in.",
        )
    return rebuilt
