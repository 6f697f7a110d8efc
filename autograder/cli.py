"""The command line: `autograder release | lint | grade | feedback`.

Exit codes: 0 done; 1 done, and something was not gradable or not correct; 2 wrong use; 3 could not run.
"""

import signal
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from autograder.course import Course
from autograder.errors import AutograderError
from autograder.results import NOT_ANSWERED, Result, brief

app = typer.Typer(
    help="Release nbgrader assignments, check them, grade submissions, write feedback.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, width=None if sys.stdout.isatty() else 120)

Assignments = Annotated[list[str] | None, typer.Argument(help="Names of assignments; all of them if none is given.")]

Build = Annotated[Path | None, typer.Option(help="Folder of gradebook.db and what goes with it; default: build/.")]


@app.command(epilog="Example: autograder release ex3_attention")
def release(
    assignments: Assignments = None,
    to: Annotated[Path | None, typer.Option(help="Folder to write into; default: exercises/.")] = None,
) -> None:
    """Make what students get from solutions/: the notebooks, and a zip with all that a student needs."""
    from autograder import release as releasing

    course = Course.find()
    target = (to or course.folder("release")).resolve()
    files = []
    for name in course.choose(assignments):
        files += releasing.release(course, name, target)
        out.print(f"released {_short(target / name)}")
    bundle = releasing.write_bundle(course, target, files, target.parent if to else course.build)
    out.print(f"bundled  {_short(bundle)}")


@app.command(epilog="Example: autograder lint ex3_attention")
def lint(assignments: Assignments = None) -> None:
    """Say what is wrong with an assignment before students meet it. Exits 1 if anything is."""
    from autograder.lint import lint as check

    course = Course.find()
    names = course.choose(assignments)
    found = [finding for name in names for finding in check(course, name)]
    for finding in found:
        out.print(f"{_short(finding.file)}, cell {finding.cell}: {finding.problem}. {finding.cure}", soft_wrap=True)
    if found:
        raise typer.Exit(1)
    out.print(f"nothing wrong with {', '.join(names)}")


@app.command(epilog="Example: autograder grade ex3_attention --submissions downloads/")
def grade(
    assignments: Assignments = None,
    submissions: Annotated[
        Path | None, typer.Option(help="Folder with STUDENT/ASSIGNMENT/NOTEBOOK.ipynb; default: build/submitted/.")
    ] = None,
    expected: Annotated[
        Path | None, typer.Option(help="Folder with a table of expected scores, ASSIGNMENT.csv, to compare with.")
    ] = None,
    build: Build = None,
    engine: Annotated[str, typer.Option(help="What runs the notebooks. There is one so far: nbgrader.")] = "nbgrader",
) -> None:
    """Grade submissions into gradebook.db and autograded notebooks; print one table."""
    from autograder import nbgrader_engine
    from autograder.expected import surprises
    from autograder.intake import collect

    if engine != "nbgrader":
        raise AutograderError(f"There is no engine '{engine}'.", "Use --engine nbgrader.")
    course = Course.find(build=build)
    names = course.choose(assignments)
    found = collect((submissions or course.folder("submitted")).resolve(), names)
    results = []
    with _progress() as bar, _stop_between() as stop:
        task = bar.add_task("grading", total=len(found))
        for result in nbgrader_engine.grade(course, found):
            results.append(result)
            bar.advance(task)
            if stop.asked:
                raise AutograderError(
                    "Stopped. What was graded is kept.", "The same command starts again.", exit_code=3
                )
    for name in names:
        if rows := [result for result in results if result.assignment == name]:
            out.print(_table(name, rows))
    ungraded = [result for result in results if not result.questions]
    differences = surprises(expected, results) if expected else []
    for line in differences:
        out.print(f"not as expected: {line}", soft_wrap=True)
    if expected and not differences:
        out.print(f"all {len(results)} scores are the expected ones ({expected})")
    out.print(f"gradebook  {_short(course.build / 'gradebook.db')}\nnotebooks  {_short(course.folder('autograded'))}")
    if differences or (ungraded and not expected):
        raise typer.Exit(1)


@app.command(epilog="Example: autograder feedback ex3_attention")
def feedback(assignments: Assignments = None, build: Build = None) -> None:
    """Write a page for each graded submission, without the hidden tests."""
    from autograder.feedback import write_feedback

    course = Course.find(build=build)
    for name in course.choose(assignments):
        pages = write_feedback(course, name)
        out.print(f"feedback   {_short(course.folder('feedback'))}: {len(pages)} pages for {name}")


def _table(assignment: str, results: list[Result]) -> Table:
    """Students as rows, questions as columns, the first message of each failed question as a remark."""
    questions = max((result.questions for result in results), key=len)
    column = _columns([question.name for question in questions])
    table = Table(title=assignment, title_justify="left", show_lines=False, pad_edge=False)
    table.add_column("student", no_wrap=True)
    for question in questions:
        table.add_column(f"{column[question.name]}\n/{question.max_points:g}", justify="right")
    table.add_column(f"total\n/{sum(question.max_points for question in questions):g}", justify="right", style="bold")
    table.add_column("remarks", overflow="fold", ratio=1)
    for result in results:
        if not result.questions:
            table.add_row(result.student, *["-"] * len(questions), "-", f"{result.status}: {' '.join(result.remarks)}")
            continue
        told = [
            f"{column[q.name]}: {brief(q.message)}" for q in result.questions if q.message != NOT_ANSWERED and q.message
        ]
        if unanswered := [column[q.name] for q in result.questions if q.message == NOT_ANSWERED]:
            told.append(f"not answered: {', '.join(unanswered)}")
        told += [f"{column[q.name]}: to be graded by hand" for q in result.questions if q.needs_manual_grade]
        scores = [f"{question.points:g}" for question in result.questions]
        table.add_row(result.student, *scores, f"{result.points:g}", "\n".join([*result.remarks, *told]))
    return table


def _columns(questions: list[str]) -> dict[str, str]:
    """Short names for the columns: q3_attention_weights -> q3, where that tells the questions apart."""
    short = {name: name.split("_")[0] for name in questions}
    return short if len(set(short.values())) == len(short) else {name: name for name in questions}


def _short(path: Path) -> str:
    """A path relative to the current folder where that is shorter."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


class _stop_between:
    """While it lasts, Ctrl-C asks to stop after the submission at hand; a second one stops at once.

    An interrupt in the middle would be taken for the student's: their kernel would die of it.
    """

    asked = False

    def __enter__(self) -> "_stop_between":
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)
        print("\nautograder: stopping after this submission; Ctrl-C again stops at once", file=sys.stderr)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)


def main() -> None:
    """Run the command line; bad input ends in one sentence on stderr, never in a traceback."""
    warnings.filterwarnings("ignore", module="nbgrader")  # of SQLAlchemy's about nbgrader's own queries
    try:
        app()
    except AutograderError as error:
        print(f"autograder: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
