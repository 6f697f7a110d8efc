"""Grading with nbgrader's engine, feedback, and what bad submissions do: nothing to anyone else's."""

import json

import nbformat
import pytest
from nbgrader.api import Gradebook
from tiny import RIGHT, code, submit, write

from autograder import nbgrader_engine
from autograder.course import Course
from autograder.feedback import write_feedback
from autograder.intake import collect, open_submission
from autograder.results import Result, Status


def grade(course: Course) -> dict[str, Result]:
    found = collect(course.folder("submitted"), ["tiny"])
    return {result.student: result for result in nbgrader_engine.grade(course, found)}


def test_a_class_with_broken_submissions_is_graded_to_its_end(course):
    submit(course, "right", RIGHT)
    submit(course, "half", {"q1_double": "def double(x):\n    return 4", "q2_word": "word = 'decoder'"})
    submit(course, "empty", {})
    submit(course, "syntax", RIGHT | {"q2_word": "word = 'enc"})
    submit(course, "importer", RIGHT | {"q1_double": "from fractions import Fraction\ndef double(x): return 2 * x"})
    submit(course, "killer", RIGHT | {"q2_word": "import os; os._exit(1)"})
    submit(course, "torn", RIGHT).write_text('{"cells": [', encoding="utf-8")
    submit(course, "blank", RIGHT).write_bytes(b"")
    submit(course, "latin", RIGHT).write_bytes("caf\u00e9".encode("latin-1"))
    submit(course, "listed", RIGHT).write_text("[1, 2]", encoding="utf-8")
    submit(course, "renamed", RIGHT).rename(course.folder("submitted") / "renamed/tiny/mine.ipynb")
    stripped = submit(course, "stripped", RIGHT)
    notebook = nbformat.read(stripped, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
    nbformat.write(notebook, stripped)
    write(course.folder("submitted") / "stranger/tiny/tiny.ipynb", [code("print('another course')")])
    submit(course, "nothing", RIGHT).rename(course.folder("submitted") / "nothing/tiny/tiny.txt")
    deleter = submit(course, "deleter", RIGHT)
    notebook = nbformat.read(deleter, as_version=4)
    notebook.cells = [
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") != "q1_hidden"
    ]
    nbformat.write(notebook, deleter)
    results = grade(course)

    def points(student):
        return [question.points for question in results[student].questions]

    assert points("right") == [2, 2]
    assert points("half") == [1, 0]
    assert points("empty") == [0, 0]
    assert points("syntax") == [2, 0]
    assert points("importer") == [0, 2]
    assert "out of reach" in results["importer"].questions[0].message
    assert results["half"].questions[0].message == "hidden words"
    assert [question.message for question in results["empty"].questions] == ["not answered"] * 2
    assert results["syntax"].questions[1].message.startswith("SyntaxError: unterminated string")
    assert results["syntax"].questions[1].message.endswith("(line 1)")
    assert results["deleter"].status is Status.REMARKS
    assert results["deleter"].remarks == ("Test cells were missing and have been put back: q1_hidden.",)
    for student in ("deleter", "stripped", "renamed"):
        assert points(student) == [2, 2], student
        assert results[student].status is Status.REMARKS
    assert results["renamed"].remarks == ("The file was named mine.ipynb.",)
    assert results["stripped"].remarks == ("q1_double was found by its cell id.", "q2_word was found by its cell id.")
    for student, reason in {
        "stranger": "holds no answer to any question of tiny. Copy the answers into a fresh copy",
        "torn": "not a notebook",
        "blank": "it is empty",
        "latin": "not text in UTF-8",
        "listed": "not a notebook",
        "nothing": "holds no tiny.ipynb. Hand in one notebook",
        "killer": "nbgrader could not grade it: Kernel died",
    }.items():
        assert results[student].status is Status.NOT_GRADABLE
        assert reason in results[student].remarks[0]
        assert "Traceback" not in results[student].remarks[0]


def test_a_regrade_keeps_manual_grades_and_what_a_later_failure_cannot_replace(course):
    path = submit(course, "ada", RIGHT | {"q2_word": "word = 'decoder'"})
    assert grade(course)["ada"].points == 2
    with Gradebook(course.directory().db_url) as gradebook:
        gradebook.find_grade("q2_visible", "tiny", "tiny", "ada").manual_score = 1.5
        gradebook.db.commit()
    assert grade(course)["ada"].points == 3.5

    kept = course.folder("autograded") / "ada/tiny/tiny.ipynb"
    before = kept.read_bytes()
    path.write_text("not a notebook", encoding="utf-8")
    assert grade(course)["ada"].status is Status.NOT_GRADABLE
    assert kept.read_bytes() == before


def test_grading_leaves_the_release_and_the_submissions_as_they_were(course):
    path = submit(course, "ada", RIGHT)
    release = course.folder("release") / "tiny/tiny.ipynb"
    before = path.read_bytes(), release.read_bytes()
    grade(course)
    assert (path.read_bytes(), release.read_bytes()) == before
    assert sorted(p.name for p in course.build.iterdir()) == ["autograded", "gradebook.db", "submitted"]


@pytest.fixture
def pages(course):
    """Feedback for a student who failed a visible test, one who failed hidden ones, and one who passed."""
    submit(course, "visible", {"q1_double": "def double(x):\n    return 5", "q2_word": "word = 7"})
    submit(
        course,
        "hidden",
        {"q1_double": "def double(x):\n    print('it was', x)\n    return 4", "q2_word": "word = 'no'"},
    )
    submit(course, "passed", RIGHT)
    grade(course)
    made = write_feedback(course, "tiny")
    return {page.parent.parent.name: page.read_text(encoding="utf-8") for page in made}


def test_feedback_shows_the_students_work_and_the_visible_tests_message(pages):
    assert set(pages) == {"visible", "hidden", "passed"}
    assert "double(2) is 4" in pages["visible"]
    assert "word is a string" in pages["visible"]  # a visible test in a cell that has hidden ones too
    assert "it was" in pages["hidden"]  # the student's own code


def test_feedback_opens_with_a_table_of_the_questions(pages):
    for student, rows in {
        "passed": [("q1_double", "2 / 2", ""), ("q2_word", "2 / 2", "")],
        "visible": [("q1_double", "0 / 2", "double(2) is 4"), ("q2_word", "0 / 2", "word is a string")],
        "hidden": [("q1_double", "1 / 2", "A hidden test did not pass."), ("q2_word", "0 / 2", "Why: it encodes")],
    }.items():
        table = pages[student].split("<table>")[1].split("</table>")[0]
        cells = [cell.split("</td>")[0] for cell in table.split("<td>")[1:]]
        assert cells == [part for row in rows for part in row]


def test_feedback_says_that_a_hidden_test_failed_and_nothing_more(pages):
    assert pages["hidden"].count("A hidden test did not pass.") == 3  # at two cells, and once in the table
    assert "Hidden tests: negative numbers" in pages["hidden"]
    assert "Why: it encodes" in pages["hidden"]  # told with the grade, and only where it is needed
    assert "Why: it encodes" not in pages["passed"] + pages["visible"]
    assert "A hidden test did not pass." not in pages["passed"]
    for page in pages.values():
        for secret in ("31337", "62674", "hidden words", "the hidden answer", "HIDDEN TESTS", "== &#39;encoder"):
            assert secret not in page


def test_a_test_cell_of_the_students_making_gives_no_points(course):
    """The graded notebook's test cells are the instructor's, whatever the student made of them."""
    path = submit(course, "forger", RIGHT | {"q1_double": "def double(x):\n    return 0"})
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if (
            cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("q1_")
            and not cell.metadata.nbgrader.solution
        ):
            cell.source = "pass"
            cell.metadata.nbgrader.points = 100
    nbformat.write(notebook, path)
    assert [question.points for question in grade(course)["forger"].questions] == [0, 2]


def test_a_fault_of_the_graders_own_does_not_stop_the_class(course, monkeypatch):
    submit(course, "ada", RIGHT)
    submit(course, "bob", RIGHT)

    def fail_for_ada(path, source, release):
        if "ada" in path.parts:
            raise ZeroDivisionError("a bug")
        return open_submission(path, source, release)

    monkeypatch.setattr(nbgrader_engine, "open_submission", fail_for_ada)
    results = grade(course)
    assert results["ada"].status is Status.GRADERS_FAULT and "a bug" in results["ada"].remarks[0]
    assert results["bob"].points == 4


def test_a_kernel_that_does_not_start_is_the_graders_fault(course, monkeypatch, tmp_path):
    submit(course, "ada", RIGHT)
    broken = tmp_path / "jupyter/kernels/python3/kernel.json"
    broken.parent.mkdir(parents=True)
    broken.write_text(json.dumps({"argv": ["false"], "display_name": "broken", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    result = grade(course)["ada"]
    assert result.status is Status.GRADERS_FAULT
    assert "Kernel died before replying" in result.remarks[0]
