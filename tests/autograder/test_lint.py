"""`autograder lint` names file, cell and cure."""

import nbformat
import pytest
from tiny import code, nbgrader, source_cells, write

from autograder.lint import lint
from autograder.release import release

Q1, VISIBLE, HIDDEN = 2, 3, 4


def edit(index: int, old: str, new: str):
    def change(cells):
        assert old in cells[index].source
        cells[index].source = cells[index].source.replace(old, new)

    return change


def no_points(cells):
    cells[VISIBLE].metadata.nbgrader.points = 0


def same_id(cells):
    cells[VISIBLE].metadata.nbgrader.grade_id = "q1_hidden"


def not_an_answer(cells):
    cells[Q1].metadata.nbgrader.solution = False


def answer_without_test(cells):
    cells.append(code("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", nbgrader("q3_x", solution=True, locked=False)))


def hidden_in_plain_cell(cells):
    cells.append(code("### BEGIN HIDDEN TESTS\nassert double(3) == 6\n### END HIDDEN TESTS"))


@pytest.mark.parametrize(
    ("change", "cell", "problem", "cure"),
    [
        (edit(VISIBLE, "double(2)", "duoble(2)"), "q1_visible", "reads 'duoble'", "Define it in an answer's solution"),
        (edit(VISIBLE, "double(2)", "(lambda: helper(2))()"), "q1_visible", "reads 'helper'", "tagged `setup`"),
        (edit(Q1, "def double(x):\n", "def double(x):\n    y = 2 * x\n"), "q1_double", "`y = 2 * x`", "Put it between"),
        (edit(Q1, "### BEGIN SOLUTION\nsecret", "secret_one = 1\n### BEGIN SOLUTION\nsecret"), "q1_double",
         "`secret_one = 1`", "Put it between"),
        (not_an_answer, "q1_double", "not an answer cell", "solution: true"),
        (edit(Q1, "    ### END SOLUTION\n", ""), "q1_double", "do not pair", "Close each solution"),
        (edit(HIDDEN, "\n### END HIDDEN TESTS", ""), "q1_hidden", "do not pair", "Close them"),
        (hidden_in_plain_cell, None, "hidden tests in a cell that is not graded", "grade: true"),
        (same_id, "q1_hidden", "stands on two cells", "another grade_id"),
        (no_points, "q1_visible", "gives no points", "more than 0"),
        (edit(VISIBLE, "assert", "assert ("), "q1_visible", "is not Python", "Mend line 1"),
        (answer_without_test, "q3_x", "no test follows", "Add a test cell"),
        (edit(VISIBLE, "assert double", "assert globals()['double']"), "q1_visible", "uses 'globals'", "calling"),
    ],
)  # fmt: skip
def test_a_fault_in_the_source_is_named(course, change, cell, problem, cure):
    cells = source_cells()
    change(cells)
    path = write(course.source_folder("tiny") / "tiny.ipynb", cells)
    found = [f for f in lint(course, "tiny") if problem in f.problem]
    assert len(found) == 1
    assert found[0].file == path
    assert found[0].cell == (cell or cells[-1].id)
    assert cure in found[0].cure


def test_a_clean_assignment_has_no_finding(course):
    assert lint(course, "tiny") == []


def test_names_of_loops_comprehensions_imports_and_helpers_are_known(course):
    cells = source_cells()
    cells[VISIBLE].source = (
        "import itertools as it\n"
        "def near(a, b=math.pi):\n    eps = 1e-9\n    return abs(a - b) < eps\n"
        "for x, y in it.pairwise([1, 2, 3]):\n    assert near(double(x), 2 * x)\n"
        "assert all(double(k) == 2 * k for k in range(3))\n"
        "try:\n    double(2)\nexcept TypeError as error:\n    raise AssertionError('no') from error\n"
        "with __import__('contextlib').nullcontext() as opened:\n    opened\n"
    )
    write(course.source_folder("tiny") / "tiny.ipynb", cells)
    assert [f.problem for f in lint(course, "tiny") if "reads" in f.problem] == []


def test_a_source_edited_after_the_release_makes_it_stale(course):
    cells = source_cells()
    cells[0].source = "# Doubling, again"
    write(course.source_folder("tiny") / "tiny.ipynb", cells)
    (finding,) = lint(course, "tiny")
    assert finding.file == course.folder("release") / "tiny/tiny.ipynb"
    assert "stale" in finding.problem and finding.cure == "Run `autograder release`."
    release(course, "tiny", course.folder("release"))
    assert lint(course, "tiny") == []


def test_a_missing_release_is_named(course):
    (course.folder("release") / "tiny/tiny.ipynb").unlink()
    (finding,) = lint(course, "tiny")
    assert finding.problem == "the release is missing"


def test_hidden_tests_in_a_released_notebook_are_named(course):
    path = course.folder("release") / "tiny/tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[HIDDEN].source = source_cells()[HIDDEN].source
    nbformat.write(notebook, path)
    found = lint(course, "tiny")
    assert (found[0].file, found[0].cell) == (path, "q1_hidden")
    assert found[0].problem == "hidden tests in a released notebook"


def test_a_source_that_is_not_what_its_twin_says_is_named(course):
    (course.source_folder("tiny") / "tiny.md").write_text("# Another text\n", encoding="utf-8")
    assert [f.cure for f in lint(course, "tiny")] == ["Run `make notebooks`."]
