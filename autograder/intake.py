"""From a folder of submissions in nbgrader's layout (student/assignment/notebook.ipynb) to Submissions."""

from dataclasses import dataclass
from pathlib import Path

from autograder.errors import AutograderError


@dataclass(frozen=True)
class Submission:
    """One student's files for one assignment."""

    student: str
    assignment: str
    folder: Path


def collect(folder: Path, assignments: list[str]) -> list[Submission]:
    """The submissions to `assignments` in `folder`, ordered by student.

    Raises:
        AutograderError: the folder does not exist, or holds no submission to any of the assignments.
    """
    if not folder.is_dir():
        raise AutograderError(f"{folder} is not a folder.", "Name the folder of submissions with --submissions.")
    found = [
        Submission(student.name, assignment, student / assignment)
        for student in sorted(folder.iterdir())
        for assignment in assignments
        if (student / assignment).is_dir() and not student.name.startswith(".")
    ]
    if not found:
        raise AutograderError(
            f"{folder} holds no submission to {' or '.join(assignments)}.",
            f"nbgrader's layout is {folder.name}/STUDENT/{assignments[0]}/{assignments[0]}.ipynb.",
        )
    return found
