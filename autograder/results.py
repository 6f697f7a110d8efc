"""What grading one submission gives: a status, points and a message for each question, remarks."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from nbformat import NotebookNode

CELL_FILE = re.compile(r"\((?:\d+\.py|<[^>]*>), line ")  # IPython's made-up file name in a SyntaxError
NOT_ANSWERED = "not answered"  # the message of a question whose answer cell is still the release's


class Status(StrEnum):
    """Every submission ends as one of these; none can stop the class."""

    GRADED = "graded"
    REMARKS = "graded with remarks"
    NOT_GRADABLE = "not gradable"
    GRADERS_FAULT = "grader's fault"


@dataclass(frozen=True)
class QuestionResult:
    """Points for one question; `message` is what the answer raised, or else what the first failing test said."""

    name: str
    points: float
    max_points: float
    message: str = ""
    needs_manual_grade: bool = False


@dataclass(frozen=True)
class Result:
    """One submission's outcome. `remarks` are sentences for the student."""

    student: str
    assignment: str
    status: Status
    questions: tuple[QuestionResult, ...] = ()
    remarks: tuple[str, ...] = field(default_factory=tuple)

    @property
    def points(self) -> float:
        return sum(question.points for question in self.questions)

    @property
    def max_points(self) -> float:
        return sum(question.max_points for question in self.questions)


def error_message(cell: NotebookNode) -> str:
    """What a cell's run raised, without its traceback; empty if nothing."""
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            if output.ename == "NotImplementedError":
                return NOT_ANSWERED
            said = CELL_FILE.sub("(line ", output.evalue)
            named = output.ename == "AssertionError" and said
            return said if named else f"{output.ename}: {said}".removesuffix(": ")
    return ""


def brief(message: str) -> str:
    """The end of a message's first paragraph: the diagnosis, where the test has made one."""
    return "".join(message.strip().split("\n\n")[0].splitlines()[-1:])
