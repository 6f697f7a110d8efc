"""The command line: its tables, its exit codes, and one sentence for bad input."""

import csv
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest
from rich.console import Console
from tiny import REPO, RIGHT, source_cells, submit, write
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


def test_another_build_folder_keeps_a_class_apart_from_the_course(course, run):
    submit(course, "ada", RIGHT)
    course.folder("submitted").rename(course.root / "class")
    ended = run("grade", "--submissions", "class", "--build", "build/sample")
    assert ended.returncode == 0 and "build/sample/gradebook.db" in ended.stdout
    assert "build/sample/feedback: 1 pages" in run("feedback", "--build", "build/sample").stdout
    assert sorted(p.name for p in course.build.iterdir()) == ["sample"]
    assert sorted(p.name for p in (course.build / "sample").iterdir()) == ["autograded", "feedback", "gradebook.db"]


def test_a_notebook_outside_an_assignments_folder_is_named_and_nobody_is_left_out_unseen(course, run):
    submit(course, "ada", RIGHT)
    lost = submit(course, "flat", RIGHT)
    lost.rename(lost.parents[1] / "tiny.ipynb")
    ended = run("grade")
    assert ended.returncode == 2
    assert "flat/tiny.ipynb does not lie in the folder of an assignment" in ended.stderr


def test_ctrl_c_stops_after_the_submission_at_hand_and_the_same_command_goes_on(course):
    """A real interrupt, sent to the real command while the first kernel runs."""
    for student in ("ada", "bob", "eve"):
        submit(course, student, RIGHT | {"q2_word": "import time; time.sleep(4)\nword = 'encoder'"})
    program = [sys.executable, "-m", "autograder", "grade"]
    running = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    kept = course.folder("autograded")
    deadline = time.monotonic() + 60
    while not list(course.build.glob("tmp*/autograded/ada/tiny/tiny.ipynb")) and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 3
    assert "stopping after this submission" in errors and "Stopped. What was graded is kept." in errors
    assert "Traceback" not in errors
    assert [path.name for path in kept.iterdir()] == ["ada"]
    assert subprocess.run(program, capture_output=True).returncode == 0
    assert sorted(path.name for path in kept.iterdir()) == ["ada", "bob", "eve"]


def test_an_assignment_of_two_notebooks_is_graded_for_the_one_that_was_handed_in(course, run):
    cells = source_cells()
    for cell in cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.grade_id = cell.id = cell.id.replace("q", "part_")
    write(course.source_folder("tiny") / "second.ipynb", cells)
    submit(course, "ada", RIGHT)
    ended = run("grade")
    assert ended.returncode == 0
    row = next(line for line in ended.stdout.splitlines() if "ada" in line)
    assert [part.strip() for part in row.split("│")][2:7] == ["0", "0", "2", "2", "4"]
    assert "holds no second.ipynb" in " ".join(ended.stdout.split()).replace("│ ", "")
    assert "part_1_double" in ended.stdout  # a short name would not tell part_1 from part_2


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
