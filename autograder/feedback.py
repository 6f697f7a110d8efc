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
from nbformat.v4 import new_output
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor

from autograder.assignment import HIDDEN, is_test, visible_part
from autograder.course import Course
from autograder.errors import AutograderError, reason

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
    config.GenerateFeedback.preprocessors = [HideHiddenTests, GetGrades, CSSHTMLHeaderPreprocessor]
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
            cell.outputs = [new_output("stream", name="stdout", text=message)] if message else []
        return cell, resources


def _message(cell: NotebookNode) -> str:
    """What a student may read of a failure: the visible tests' message, or that a hidden test failed."""
    for output in cell.outputs:
        if output.output_type == "error":
            found = FAILING_LINE.search(ANSI.sub("", "\n".join(output.traceback)))
            line = int(found[1]) if found else None
            if line is not None and not _is_hidden(line, cell.source):
                return f"{output.ename}: {output.evalue}\n"
            return "\n".join(["A hidden test did not pass.", *WHY.findall(cell.source)]) + "\n"
    return ""


def _is_hidden(line: int, source: str) -> bool:
    return any(
        source.count("\n", 0, match.start()) < line <= source.count("\n", 0, match.end())
        for match in HIDDEN.finditer(source)
    )
