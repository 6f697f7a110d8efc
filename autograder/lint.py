"""What is wrong with an assignment before any student meets it: file, cell, problem and cure."""

import ast
import builtins
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from autograder import twins
from autograder.assignment import (
    SOLUTION,
    SourceNotebook,
    grade_id,
    is_answer,
    is_graded,
    is_test,
    names_bound,
    names_read,
    points,
    read_notebook,
    read_source,
    without_magics,
)
from autograder.course import Course
from autograder.errors import AutograderError
from autograder.release import generate

# What a test cell may not use under the value contract: each reaches past the values that answers hand out.
REACHES_IN = {"globals", "locals", "vars", "get_ipython", "inspect", "exec", "eval", "open"}


@dataclass(frozen=True)
class Finding:
    """One fault: where it is, what it is, and what to do about it."""

    file: Path
    cell: str
    problem: str
    cure: str


def lint(course: Course, assignment: str) -> list[Finding]:
    """All faults of an assignment's source notebooks and of its release in exercises/.

    Raises:
        AutograderError: unknown assignment, or a source notebook that cannot be read.
    """
    sources = read_source(course.source_folder(assignment))
    found = [finding for source in sources for finding in _lint_source(source)]
    return found or [
        finding for source in sources for finding in (*_lint_twin(source), *_lint_release(course, assignment, source))
    ]


def _lint_source(source: SourceNotebook) -> Iterator[Finding]:
    seen: set[str] = set()
    defined = set(dir(builtins))
    for cell in source.node.cells:
        name = grade_id(cell)
        faults = [*_marker_faults(cell), *(_test_faults(cell, defined) if is_test(cell) else ())]
        if name in seen:
            faults.append((f"the grade_id '{name}' stands on two cells", "Give one of them another grade_id."))
        for problem, cure in faults:
            yield Finding(source.path, name or cell.get("id", "?"), problem, cure)
        seen |= {name} - {""}
        defined |= names_bound(cell)
    for question in source.questions:
        if question.answers and not question.tests:
            cure = "Add a test cell with nbgrader's `grade: true` and points below it."
            yield Finding(source.path, question.name, "the question has no points: no test follows the answer", cure)


def _marker_faults(cell: NotebookNode) -> Iterator[tuple[str, str]]:
    text = cell.source
    if "BEGIN SOLUTION" in text and not is_answer(cell):
        yield "a solution in a cell that is not an answer cell", "Set nbgrader's `solution: true` on it."
    if text.count("BEGIN SOLUTION") != text.count("END SOLUTION"):
        yield "BEGIN SOLUTION and END SOLUTION do not pair", "Close each solution with ### END SOLUTION."
    if "BEGIN HIDDEN TESTS" in text and not is_graded(cell):
        yield "hidden tests in a cell that is not graded", "Set nbgrader's `grade: true` and its points."
    if text.count("BEGIN HIDDEN TESTS") != text.count("END HIDDEN TESTS"):
        yield "BEGIN and END HIDDEN TESTS do not pair", "Close them with ### END HIDDEN TESTS."
    if is_graded(cell) and points(cell) <= 0:
        yield "it is graded and gives no points", "Set nbgrader's `points` to more than 0."
    if is_answer(cell) and cell.cell_type == "code" and (line := _solution_outside_markers(text)):
        cure = "Put it between ### BEGIN SOLUTION and ### END SOLUTION."
        yield f"code outside the solution's markers would be released: `{line}`", cure


def _test_faults(cell: NotebookNode, defined: set[str]) -> Iterator[tuple[str, str]]:
    try:
        ast.parse(without_magics(cell.source))
    except SyntaxError as error:
        yield f"the test is not Python: {error.msg}", f"Mend line {error.lineno}."
    read = names_read(cell)
    for name in sorted(read - defined - names_bound(cell) - REACHES_IN):
        cure = "Define it in an answer's solution or in the cell tagged `setup`."
        yield f"the test reads '{name}', which no cell above defines", cure
    for name in sorted(read & REACHES_IN):
        cure = "Test by calling the student's functions with values and looking at what comes back."
        yield f"the test uses '{name}', which reaches into the student's process", cure


def _lint_twin(source: SourceNotebook) -> Iterator[Finding]:
    twin = source.path.with_suffix(".md")
    if twin.exists() and twins.differences(twin):
        yield Finding(source.path, "-", f"it is not what {twin.name} says", "Run `make notebooks`.")


def _lint_release(course: Course, assignment: str, source: SourceNotebook) -> Iterator[Finding]:
    released = course.folder("release") / assignment / f"{source.name}.ipynb"
    stale = "Run `autograder release`."
    if not released.exists():
        yield Finding(released, "-", "the release is missing", stale)
        return
    found = read_notebook(released).cells
    for cell in found:
        if "HIDDEN TESTS" in cell.source:
            yield Finding(released, grade_id(cell) or cell.id, "hidden tests in a released notebook", stale)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            fresh = generate(course, assignment, Path(scratch))
        except AutograderError as error:
            yield Finding(source.path, "-", str(error), "Mend the source notebook.")
            return
        wanted = read_notebook(fresh / released.name).cells
    for want, have in zip(wanted, found, strict=False):
        if (want.source, want.metadata) != (have.source, have.metadata):
            yield Finding(released, have.get("id", "?"), "the release is stale: it is not what the source gives", stale)
            return
    if len(wanted) != len(found):
        yield Finding(released, "-", f"the release is stale: {len(found)} cells, not {len(wanted)}", stale)


def _solution_outside_markers(source: str) -> str:
    """The first statement of an answer cell that would do something in the release, "" if there is none.

    Without markers nbgrader clears the whole cell. With them, what stays may import, declare functions and
    classes, and describe; anything else outside is part of an answer.
    """
    if not SOLUTION.search(source):
        return ""
    kept = SOLUTION.sub(r"\1raise NotImplementedError", source)
    try:
        tree = ast.parse(kept)
    except SyntaxError:
        return ""  # the solution shares a statement with its frame; running the release shows it
    bodies = [tree.body]
    while bodies:
        for statement in bodies.pop():
            match statement:
                case ast.FunctionDef(body=body) | ast.ClassDef(body=body) | ast.AsyncFunctionDef(body=body):
                    bodies.append(body)
                case ast.Import() | ast.ImportFrom() | ast.Raise() | ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    return ast.get_source_segment(kept, statement).splitlines()[0]
    return ""
