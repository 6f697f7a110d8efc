"""Whatever happened to a notebook on its way, the answers are found, and it is said how."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from tiny import RIGHT, code, nbgrader, source_cells

from autograder.assignment import SourceNotebook, grade_id, is_answer
from autograder.matching import ANSWERED_ELSEWHERE, RULES, rebuild

SOURCE = SourceNotebook(None, nbformat.v4.new_notebook(cells=source_cells()))
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"


@pytest.fixture
def release():
    """The release as nbgrader makes it: stubs for answers, no hidden tests; ids that speak."""
    notebook = copy.deepcopy(SOURCE.node)
    for number, cell in enumerate(notebook.cells):
        cell.id = grade_id(cell) or f"cell-{number}"
        cell.source = STUB if is_answer(cell) else cell.source.split("### BEGIN")[0].strip()
    return notebook


@pytest.fixture
def handed_in(release):
    """The release with both questions answered."""
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        cell.source = RIGHT.get(grade_id(cell), cell.source)
    return notebook


def answers(rebuilt) -> dict[str, str]:
    return {grade_id(cell): cell.source for cell in rebuilt.notebook.cells if is_answer(cell)}


def strip_metadata(notebook):
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})


def new_ids(notebook):
    for number, cell in enumerate(notebook.cells):
        cell.id = f"fresh-{number}"


def nothing(notebook):
    pass


def as_colab(notebook):
    strip_metadata(notebook)
    for cell in notebook.cells:
        cell.metadata["id"] = cell.pop("id")


def name_in_comments(notebook):
    for cell in notebook.cells:
        if is_answer(cell):
            cell.source = f"# my answer to {grade_id(cell)}\n{cell.source}"
    strip_metadata(notebook)
    new_ids(notebook)


def retyped(notebook):
    strip_metadata(notebook)
    new_ids(notebook)


@pytest.mark.parametrize(
    ("damage", "rule"), list(zip((nothing, as_colab, name_in_comments, retyped), RULES, strict=True)), ids=RULES
)
def test_each_rule_finds_the_answers_that_the_rules_before_it_have_lost(release, handed_in, damage, rule):
    damage(handed_in)
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    assert {name: text.splitlines()[-1] for name, text in answers(rebuilt).items()} == {
        name: text.splitlines()[-1] for name, text in RIGHT.items()
    }
    assert set(rebuilt.matched.values()) == {rule}
    assert rebuilt.remarks == (() if rule == RULES[0] else tuple(f"{name} was found by {rule}." for name in RIGHT))


def test_all_but_the_answers_is_the_instructors(release, handed_in):
    for cell in handed_in.cells:
        if not is_answer(cell):
            cell.source = "pass  # changed by the student"
        cell.metadata["tags"] = ["skip-execution"]
        cell.metadata.setdefault("nbgrader", {})["points"] = 100
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    for cell, original in zip(rebuilt.notebook.cells, release.cells, strict=True):
        assert cell.metadata == original.metadata
        assert is_answer(cell) or cell.source == original.source


def test_the_students_own_cells_stay_where_they_stood_and_carry_nothing(release, handed_in):
    handed_in.cells.insert(3, code("half = double(0.5)", {"tags": ["skip-execution"]} | nbgrader("new", points=50)))
    handed_in.cells.insert(0, code("import cmath"))
    handed_in.cells.append(new_markdown_cell("Thank you!"))
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    sources = [cell.source for cell in rebuilt.notebook.cells]
    assert sources.index("half = double(0.5)") == sources.index(RIGHT["q1_double"]) + 1
    assert sources.index("import cmath") < sources.index(RIGHT["q1_double"])
    own = [cell for cell in rebuilt.notebook.cells if cell.source in ("half = double(0.5)", "import cmath")]
    assert [cell.metadata for cell in own] == [{}, {}]
    assert "Thank you!" not in sources


def test_of_a_copied_answer_the_last_that_was_changed_is_graded(release, handed_in):
    place = next(i for i, cell in enumerate(handed_in.cells) if grade_id(cell) == "q2_word")
    older, untouched = copy.deepcopy(handed_in.cells[place]), copy.deepcopy(handed_in.cells[place])
    older.source, untouched.source = "word = 'decoder'", STUB
    handed_in.cells[place:place] = [older]
    handed_in.cells.append(untouched)
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    assert answers(rebuilt) == RIGHT
    assert rebuilt.remarks == ("q2_word stands in 2 cells; the last of them is graded.",)


def test_deleted_test_cells_come_back(release, handed_in):
    handed_in.cells = [cell for cell in handed_in.cells if grade_id(cell) != "q1_visible"]
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    assert [grade_id(c) for c in rebuilt.notebook.cells] == [grade_id(c) for c in release.cells]
    assert rebuilt.remarks == ("Test cells were missing and have been put back: q1_visible.",)


def test_work_in_a_new_cell_counts_where_the_answer_cell_was_left_alone(release, handed_in):
    place = next(i for i, cell in enumerate(handed_in.cells) if grade_id(cell) == "q2_word")
    handed_in.cells[place].source = STUB
    handed_in.cells.insert(place + 1, code(RIGHT["q2_word"]))
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    assert answers(rebuilt) == RIGHT
    assert rebuilt.matched["q2_word"] == RULES[3]


def test_two_answers_in_one_cell_are_both_kept(release, handed_in):
    strip_metadata(handed_in)
    new_ids(handed_in)
    first, second = (i for i, cell in enumerate(handed_in.cells) if cell.source in RIGHT.values())
    handed_in.cells[first].source += "\n" + handed_in.cells.pop(second).source
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    assert answers(rebuilt) == {"q1_double": "\n".join(RIGHT.values()), "q2_word": ANSWERED_ELSEWHERE}


def test_a_question_without_any_answer_keeps_its_stub_and_is_named(release, handed_in):
    handed_in.cells = [cell for cell in handed_in.cells if grade_id(cell) != "q2_word"]
    rebuilt = rebuild(release, SOURCE.answer_names, handed_in)
    assert answers(rebuilt)["q2_word"] == STUB
    assert rebuilt.remarks == ("No cell was found that answers q2_word.",)


def test_cells_that_are_not_python_do_no_harm(release, handed_in):
    strip_metadata(handed_in)
    new_ids(handed_in)
    handed_in.cells.insert(0, code("%%bash\necho '\x00'"))
    handed_in.cells.insert(0, code("def broken(:"))
    assert answers(rebuild(release, SOURCE.answer_names, handed_in)) == RIGHT


@pytest.mark.parametrize(
    "junk", [None, 7, True, "nonsense", ["q1_double"], {"grade_id": ["q1_double"]}, {"grade_id": 5}]
)
def test_metadata_of_any_type_does_no_harm(release, handed_in, junk):
    for cell in handed_in.cells:
        cell.metadata["nbgrader"] = copy.deepcopy(junk)
        cell.metadata["id"] = copy.deepcopy(junk)
    new_ids(handed_in)
    assert answers(rebuild(release, SOURCE.answer_names, handed_in)) == RIGHT


def test_a_notebook_of_something_else_matches_nothing(release):
    other = nbformat.v4.new_notebook(cells=[code("print('another course')"), new_markdown_cell("# Doubling, not")])
    assert rebuild(release, SOURCE.answer_names, other).matched == {}
