"""Grading with nbgrader's own converters: one kernel a submission, tests in the student's process.

It is the reference that a faster and safer engine is compared with. It protects from nothing: student code
can read the hidden tests. What it adds to `nbgrader autograde`: submissions are rebuilt on the release first
(matching.py), none of them stops the class, names that an exercise asks to be written are out of reach, and
a Result comes back.
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
from autograder.intake import Submission, notebook_file, open_submission
from autograder.kernels import over_ipc
from autograder.release import generate
from autograder.results import QuestionResult, Result, Status, error_message
from autograder.twins import write_notebook

# The kernel never started: no code of a student's has run.
NO_KERNEL = re.compile(r"No such kernel|Kernel didn't respond|died before replying")


def grade(course: Course, submissions: list[Submission]) -> Iterator[Result]:
    """Grade the submissions one after the other into the course's gradebook.db and autograded folder.

    A submission's autograded notebook is replaced only by a newer one that is complete; manual grades in the
    gradebook are kept.
    """
    course.build.mkdir(parents=True, exist_ok=True)
    sources = {name: read_source(course.source_folder(name)) for name in {s.assignment for s in submissions}}
    with tempfile.TemporaryDirectory(dir=course.build) as scratch:
        for name in sources:
            generate(course, name, Path(scratch) / "release", record=True)
        for submission in submissions:
            yield _grade_one(course, submission, sources[submission.assignment], Path(scratch))


def _grade_one(course: Course, submission: Submission, sources: tuple[SourceNotebook, ...], scratch: Path) -> Result:
    graded = Result(submission.student, submission.assignment, Status.GRADED)
    try:
        remarks = _prepare(submission, sources, scratch)
    except AutograderError as error:
        return replace(graded, status=Status.NOT_GRADABLE, remarks=(str(error),))
    except Exception as error:  # whatever a notebook holds, the class goes on
        return replace(graded, status=Status.GRADERS_FAULT, remarks=(f"It could not be prepared: {error!r}.",))

    config = course.with_settings(
        submitted_directory=str(scratch / "submitted"), autograded_directory=str(scratch / "autograded")
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


def _prepare(submission: Submission, sources: tuple[SourceNotebook, ...], scratch: Path) -> tuple[str, ...]:
    """Lay a submission out for nbgrader in `scratch`/submitted, rebuilt; returns the remarks.

    Of an assignment with several notebooks, those that cannot be used get a remark, and nbgrader's 0.

    Raises:
        AutograderError: there is no notebook that can be used.
    """
    folder = scratch / "submitted" / submission.student / submission.assignment
    shutil.copytree(submission.folder, folder, ignore=shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints"))
    remarks: list[str] = []
    unusable: list[AutograderError] = []
    for source in sources:
        release = read_notebook(scratch / "release" / submission.assignment / f"{source.name}.ipynb")
        try:
            path, renamed = notebook_file(submission, source, sources)
            rebuilt = open_submission(path, source, release)
        except AutograderError as error:
            unusable.append(error)
            continue
        write_notebook(rebuilt.notebook, folder / f"{source.name}.ipynb")
        remarks += [*renamed, *rebuilt.remarks]
    if len(unusable) == len(sources):
        raise unusable[0]
    return (*remarks, *map(str, unusable))


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
