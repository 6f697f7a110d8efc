"""Grading with nbgrader's own converters: one kernel a submission, tests in the student's process.

It is the reference that a faster and safer engine is compared with. It protects from nothing: student code
can read the hidden tests. What it adds to `nbgrader autograde` is that no submission stops the class, that
names which an exercise asks to be written are out of reach, and that a Result comes back.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from autograder.assignment import SourceNotebook, grade_id, is_answer, is_graded, read_notebook, read_source
from autograder.course import Course
from autograder.errors import AutograderError, reason
from autograder.intake import Submission
from autograder.kernels import over_ipc
from autograder.release import generate
from autograder.results import NOT_ANSWERED, QuestionResult, Result, Status

NO_KERNEL = re.compile(
    r"No such kernel|Kernel didn't respond|died before replying"
)  # it never started: no code of a student's ran
CELL_FILE = re.compile(r"\((?:\d+\.py|<[^>]*>), line ")  # IPython's made-up file name in a SyntaxError


def grade(course: Course, submissions: list[Submission]) -> Iterator[Result]:
    """Grade the submissions one after the other into the course's gradebook.db and autograded folder.

    A submission's autograded notebook is replaced only by a newer one that is complete; manual grades in the
    gradebook are kept.
    """
    course.build.mkdir(exist_ok=True)
    sources = {name: read_source(course.source_folder(name)) for name in {s.assignment for s in submissions}}
    with tempfile.TemporaryDirectory(dir=course.build) as scratch:
        for name in sources:
            generate(course, name, Path(scratch) / "release", record=True)
        for submission in submissions:
            yield _grade_one(course, submission, sources[submission.assignment], Path(scratch))


def _grade_one(course: Course, submission: Submission, sources: tuple[SourceNotebook, ...], scratch: Path) -> Result:
    graded = Result(submission.student, submission.assignment, Status.GRADED)
    try:
        remarks = tuple(remark for source in sources for remark in _look_over(submission, source))
    except AutograderError as error:
        return replace(graded, status=Status.NOT_GRADABLE, remarks=(str(error),))

    config = course.with_settings(
        submitted_directory=str(submission.folder.parent.parent), autograded_directory=str(scratch / "autograded")
    )
    config.merge(_kernel_arguments(sources))
    with over_ipc() as sockets:
        config.merge(sockets)
        outcome = NbGraderAPI(config=config).autograde(submission.assignment, submission.student, force=True)
    if not outcome["success"]:
        why = reason(outcome)
        status = Status.GRADERS_FAULT if NO_KERNEL.search(why) else Status.NOT_GRADABLE
        return replace(graded, status=status, remarks=(*remarks, f"nbgrader could not grade it: {why}"))

    made = scratch / "autograded" / submission.student / submission.assignment
    kept = course.folder("autograded") / submission.student / submission.assignment
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, kept)
    questions = tuple(_questions(course, submission, sources, kept))
    return replace(graded, status=Status.REMARKS if remarks else Status.GRADED, questions=questions, remarks=remarks)


def _look_over(submission: Submission, source: SourceNotebook) -> Iterator[str]:
    """What is odd about a submitted notebook and does not keep it from being graded.

    Raises:
        AutograderError: it is not there, cannot be read, or has nothing left of the assignment. nbgrader would
            give that last one 0 points without a word (nbgrader#424).
    """
    path = submission.folder / f"{source.name}.ipynb"
    if not path.exists():
        raise AutograderError(f"{submission.folder} holds no {path.name}.", "Is it there under another name?")
    found = {grade_id(cell) for cell in read_notebook(path).cells}
    wanted = [name for question in source.questions for name in dict.fromkeys((*question.answers, *question.tests))]
    missing = [name for name in wanted if name not in found]
    if len(missing) == len(wanted):
        raise AutograderError(
            f"{path} has none of the assignment's cells: its nbgrader metadata is gone.",
            "Copy the answers into a fresh copy of the assignment and hand that in.",
        )
    if missing:
        yield f"cells are missing: {', '.join(missing)}"


def _kernel_arguments(sources: tuple[SourceNotebook, ...]) -> Config:
    """Start each kernel without history, and with the assignment's out-of-reach names already forbidden."""
    names = sorted({name for source in sources for name in source.out_of_reach})
    # stack_data: what IPython imports when it prints its first traceback must be there before names are forbidden.
    forbid = f"__import__('stack_data'); __import__('autograder.out_of_reach').out_of_reach.forbid({names!r})"
    config = Config()
    config.Execute.extra_arguments = ["--HistoryManager.hist_file=:memory:", f"--IPKernelApp.exec_lines={forbid}"]
    return config


def _questions(
    course: Course, submission: Submission, sources: tuple[SourceNotebook, ...], folder: Path
) -> Iterator[QuestionResult]:
    with Gradebook(course.directory().db_url) as gradebook:
        for source in sources:
            path = folder / f"{source.name}.ipynb"
            cells = nbformat.read(path, as_version=4).cells if path.exists() else []
            by_id = {grade_id(cell): cell for cell in cells if is_graded(cell) or is_answer(cell)}
            for question in source.questions:
                grades = [
                    gradebook.find_grade(test, source.name, submission.assignment, submission.student)
                    for test in question.tests
                ]
                names = dict.fromkeys((*question.answers, *question.tests))  # a broken answer explains its tests
                messages = [error_message(by_id[name]) for name in names if name in by_id]
                yield QuestionResult(
                    question.name,
                    sum(grade.score or 0.0 for grade in grades),
                    question.points,
                    next(filter(None, messages), ""),
                    any(grade.needs_manual_grade for grade in grades),
                )


def error_message(cell: nbformat.NotebookNode) -> str:
    """What a cell's run raised, without its traceback; empty if nothing."""
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            if output.ename == "NotImplementedError":
                return NOT_ANSWERED
            said = CELL_FILE.sub("(line ", output.evalue)
            named = output.ename == "AssertionError" and said
            return said if named else f"{output.ename}: {said}".removesuffix(": ")
    return ""
