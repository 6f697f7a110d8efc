"""Feedback pages from nbgrader's converter, without what students must not see.

nbgrader prints the source and the traceback of hidden tests into its pages (nbgrader#917, #1363). Here a
cell with hidden tests shows its visible part and, if it failed, the visible test's message or that a hidden
one did not pass. Comments of a hidden region that begin with `# Why:` are for these pages: they are shown
with a failure, since the grade is out and the reason is what is left to learn.
"""

import re
from pathlib import Path

from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor

from autograder.assignment import HIDDEN, SourceNotebook, grade_id, is_graded, is_test, visible_part
from autograder.course import Course
from autograder.errors import AutograderError, reason
from autograder.results import brief, error_message

FAILING_LINE = re.compile(r"Cell \S*In\s*\[\d+\]\S*?, line (\d+)")
WHY = re.compile(r"^\s*# (Why: .*)$", re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def write_feedback(course: Course, assignment: str) -> list[Path]:
    """One HTML page for every graded submission of an assignment; returns their paths.

    Raises:
        AutograderError: nothing has been graded yet, or nbgrader's converter failed.
    """
    graded = sorted(course.folder("autograded").glob(f"*/{assignment}/*.ipynb"))
    if not graded:
        raise AutograderError(f"Nothing of {assignment} has been graded yet.", "Run `autograder grade` first.")
    config = course.with_settings()
    config.GenerateFeedback.preprocessors = [HideHiddenTests, GetGrades, Summarise, CSSHTMLHeaderPreprocessor]
    outcome = NbGraderAPI(config=config).generate_feedback(assignment, force=True)
    if not outcome["success"]:
        raise AutograderError(f"nbgrader could not write feedback on {assignment}: {reason(outcome)}", exit_code=3)
    pages = [course.folder("feedback") / path.parent.parent.name / assignment / f"{path.stem}.html" for path in graded]
    return [page for page in pages if page.exists()]


class HideHiddenTests(NbGraderPreprocessor):
    """Cut hidden tests and everything they printed or raised out of a graded notebook."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        if is_test(cell) and HIDDEN.search(cell.source):
            message = _message(cell)
            cell.source = visible_part(cell.source)
            cell.outputs = [_as_error(message)] if message else []
        return cell, resources


class Summarise(NbGraderPreprocessor):
    """Put a table of the questions on top, each with its points and what the first failing test said."""

    def preprocess(self, notebook: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        rows = []
        by_id = {grade_id(cell): cell for cell in notebook.cells if grade_id(cell)}
        for question in SourceNotebook(Path("feedback"), notebook).questions:
            cells = [by_id[name] for name in dict.fromkeys((*question.answers, *question.tests))]
            score = sum(cell.metadata.nbgrader.get("score") or 0 for cell in cells if is_graded(cell))
            said = next(filter(None, map(error_message, cells)), "")
            rows.append(f"| {question.name} | {score:g} / {question.points:g} | {brief(said).replace('|', '&#124;')} |")
        table = "\n".join(["| Question | Points | What was said |", "|---|---|---|", *rows])
        notebook.cells.insert(0, new_markdown_cell(table, id="summary"))
        return notebook, resources


def _message(cell: NotebookNode) -> str:
    """What a student may read of a failure: the visible tests' message, or that a hidden test failed."""
    for output in cell.outputs:
        if output.output_type == "error":
            found = FAILING_LINE.search(ANSI.sub("", "\n".join(output.traceback)))
            if found is None:
                return "This test did not pass."
            if not _is_hidden(int(found[1]), cell.source):
                return error_message(cell)
            return "\n".join(["A hidden test did not pass.", *WHY.findall(cell.source)])
    return ""


def _as_error(message: str) -> NotebookNode:
    return new_output("error", ename="AssertionError", evalue=message, traceback=[message])


def _is_hidden(line: int, source: str) -> bool:
    return any(
        source.count("\n", 0, match.start()) < line <= source.count("\n", 0, match.end())
        for match in HIDDEN.finditer(source)
    )
