"""The table of scores that each submission must get: ASSIGNMENT.csv with student, a column a question, total."""

import csv
from pathlib import Path

from autograder.errors import AutograderError
from autograder.results import Result


def surprises(folder: Path, results: list[Result]) -> list[str]:
    """Where the results differ from the expected scores in `folder`; one sentence each.

    A student who is expected and was not graded is a difference too, and so is one nobody expected.

    Raises:
        AutograderError: there is no table for an assignment, or it lacks a question or holds no number.
    """
    found = []
    for assignment in sorted({result.assignment for result in results}):
        path = folder / f"{assignment}.csv"
        table = _read(path)
        graded = {result.student: result for result in results if result.assignment == assignment}
        found += [f"{assignment}: {name} was expected and not graded" for name in sorted(table.keys() - graded.keys())]
        for student, result in graded.items():
            if student not in table:
                found.append(f"{assignment}: {student} has no expected score in {path}")
                continue
            row = table[student]
            scores = {question.name: question.points for question in result.questions} | {"total": result.points}
            for name, points in scores.items():
                if points != _number(row, name, path):
                    found.append(f"{assignment}: {student} got {points:g} for {name}, expected {row[name]}")
    return found


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}
    except OSError as error:
        raise AutograderError(f"{path}: {error.strerror}.", "Name the folder of expected scores.") from None
    except KeyError:
        raise AutograderError(f"{path} has no column 'student'.", "Its first line names the columns.") from None


def _number(row: dict[str, str], column: str, path: Path) -> float:
    try:
        return float(row[column])
    except (KeyError, ValueError, TypeError):
        raise AutograderError(f"{path}: {row['student']} has no number in the column '{column}'.") from None
