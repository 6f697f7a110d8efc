"""The command line: its tables, its exit codes, and one sentence for bad input."""

import csv
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest
from rich.console import Console
from tiny import REPO, RIGHT, submit
from typer.testing import CliRunner

from autograder import cli

SCORES = [["student", "q1_double", "q2_word", "total"], ["ada", "2", "2", "4"], ["bob", "1", "0", "1"]]


@dataclass
class Ended:
    """What one call of the command line left behind."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys):
    """Call the command line as the installed command does."""

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["autograder", *arguments])
        monkeypatch.setattr(cli, "out", Console(highlight=False, width=120))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Ended(ended.value.code or 0, *capsys.readouterr())

    return call


def expect_scores(course, rows) -> None:
    folder = course.root / "expected"
    folder.mkdir(exist_ok=True)
    with (folder / "tiny.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["grade", "nope"], "There is no assignment 'nope'"),
        (["lint", "nope"], "The assignments here: tiny."),
        (["release", "nope"], "There is no assignment 'nope'"),
        (["feedback", "nope"], "There is no assignment 'nope'"),
        (["grade", "--submissions", "void"], "void holds no submission to tiny. nbgrader's layout is"),
        (["grade", "--submissions", "nowhere"], "nowhere is not a folder"),
        (["grade", "--engine", "magic"], "There is no engine 'magic'. Use --engine nbgrader."),
        (["feedback"], "Nothing of tiny has been graded yet. Run `autograder grade` first."),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(course, arguments, sentence, run):
    (course.root / "void").mkdir()
    ended = run(*arguments)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert ended.stderr.startswith("autograder: ") and ended.stderr.count("\n") == 1
    assert not ended.stdout


def test_outside_a_course_every_command_says_so(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for command in ("release", "lint", "grade", "feedback"):
        ended = run(command)
        assert ended.returncode == 2
        assert "is not inside a course" in ended.stderr and ended.stderr.count("\n") == 1


def test_a_course_without_assignments_says_so(course, run):
    shutil.rmtree(course.folder("source"))
    for command in ("release", "lint", "grade", "feedback"):
        ended = run(command)
        assert ended.returncode == 2 and "This course has no assignment" in ended.stderr


def test_a_broken_configuration_is_named(course, run):
    (course.root / "nbgrader_config.py").write_text("c = get_config(\n")
    ended = run("lint")
    assert ended.returncode == 2
    assert "nbgrader_config.py cannot be used" in ended.stderr and "Traceback" not in ended.stderr


def test_a_source_notebook_that_is_not_json_is_named(course, run):
    (course.source_folder("tiny") / "tiny.ipynb").write_text("{")
    for command in ("release", "lint"):
        ended = run(command)
        assert ended.returncode == 2
        assert "tiny.ipynb cannot be read: it is not a notebook" in ended.stderr


def test_grading_prints_the_table_and_exits_by_the_expected_scores(course, run):
    submit(course, "ada", RIGHT)
    submit(course, "bob", {"q1_double": "def double(x):\n    return 4", "q2_word": "word = 'decoder'"})
    expect_scores(course, SCORES)
    ended = run("grade", "--expected", "expected")
    assert ended.returncode == 0 and not ended.stderr
    assert "all 2 scores are the expected ones" in ended.stdout
    row = next(line for line in ended.stdout.splitlines() if "bob" in line)
    assert [part.strip() for part in row.split("│")][2:5] == ["1", "0", "1"]

    expect_scores(course, [*SCORES[:2], ["bob", "1", "2", "3"], ["eve", "2", "2", "4"]])
    ended = run("grade", "--expected", "expected")
    assert ended.returncode == 1
    for line in (
        "bob got 0 for q2_word, expected 2",
        "bob got 1 for total, expected 3",
        "eve was expected and not graded",
    ):
        assert f"not as expected: tiny: {line}" in ended.stdout


def test_a_submission_that_cannot_be_graded_ends_with_exit_code_1_and_a_row(course, run):
    submit(course, "ada", RIGHT)
    submit(course, "torn", RIGHT).write_text("{")
    ended = run("grade")
    assert ended.returncode == 1 and not ended.stderr
    assert "not gradable" in ended.stdout and "ada" in ended.stdout


@pytest.mark.parametrize("command", ["release", "lint", "grade", "feedback"])
def test_every_command_has_help_with_an_example(command):
    shown = CliRunner().invoke(cli.app, [command, "--help"])
    assert shown.exit_code == 0
    assert f"Example: autograder {command}" in shown.output


def test_without_its_packages_the_command_says_what_to_run(tmp_path):
    """A Python that has only the autograder's own files, as after `pip install unmasked` without the extra."""
    (tmp_path / "autograder").symlink_to(REPO / "autograder")
    bare = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
            "from autograder.__main__ import main; main()"]  # fmt: skip
    ended = subprocess.run(bare, capture_output=True, text=True)
    assert ended.returncode == 3
    assert "is not installed. Run `python3 bootstrap.py`" in ended.stderr and ended.stderr.count("\n") == 1
