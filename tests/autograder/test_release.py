"""What students get: no solutions, no hidden tests, nothing of the instructor's; and nothing of theirs is lost."""

import json
import zipfile

import nbformat
import pytest
from tiny import REPO, code, source_cells, write

from autograder.course import Course
from autograder.errors import AutograderError
from autograder.release import release, write_bundle


def released_text(course: Course) -> str:
    return (course.folder("release") / "tiny/tiny.ipynb").read_text(encoding="utf-8")


def test_a_release_holds_no_solution_and_no_hidden_test(course):
    text = released_text(course)
    assert "raise NotImplementedError()" in text
    for secret in ("secret_two", "31337", "hidden words", "'encoder'", "BEGIN SOLUTION", "BEGIN HIDDEN"):
        assert secret not in text


def test_a_release_keeps_only_the_metadata_that_nbgrader_needs(course):
    notebook = json.loads(released_text(course))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    for cell in notebook["cells"]:
        assert set(cell["metadata"]) <= {"nbgrader"}
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_two_releases_are_the_same_bytes(course):
    before = released_text(course)
    release(course, "tiny", course.folder("release"))
    assert released_text(course) == before


def test_the_text_twin_and_other_instructor_files_stay_behind(course):
    folder = course.source_folder("tiny")
    (folder / "tiny.md").write_text("the solution: secret_two", encoding="utf-8")
    (folder / "words.txt").write_text("data for students", encoding="utf-8")
    made = release(course, "tiny", course.folder("release"))
    assert sorted(path.name for path in made) == ["tiny.ipynb", "words.txt"]
    assert sorted(made) == sorted((course.folder("release") / "tiny").iterdir())


def test_a_notebook_with_answers_is_never_replaced(course):
    path = course.folder("release") / "tiny/tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    answer = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution"))
    answer.source = "my hour of work"
    nbformat.write(notebook, path)
    with pytest.raises(AutograderError, match=r"tiny\.ipynb has been worked on \(cell q1_double\)"):
        release(course, "tiny", course.folder("release"))
    assert "my hour of work" in released_text(course)


def run_a_cell(cells):
    cells[1].execution_count = 1


def add_a_cell(cells):
    cells.append(code("three hours of it"))  # nbformat gives it a random id, as editors do


@pytest.mark.parametrize("work", [run_a_cell, add_a_cell])
def test_other_work_in_a_notebook_is_not_replaced_either(course, work):
    path = course.folder("release") / "tiny/tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    work(notebook.cells)
    nbformat.write(notebook, path)
    before = path.read_bytes()
    with pytest.raises(AutograderError, match="has been worked on"):
        release(course, "tiny", course.folder("release"))
    assert path.read_bytes() == before


def test_a_source_without_cell_ids_is_released_with_ids(course):
    cells = source_cells()
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.nbformat_minor = 2
    for cell in cells:
        del cell["id"]
    nbformat.write(notebook, course.source_folder("tiny") / "tiny.ipynb")
    release(course, "tiny", course.folder("release"))
    made = nbformat.read(course.folder("release") / "tiny/tiny.ipynb", as_version=4)
    assert [cell.id for cell in made.cells[:3]] == ["cell-0", "setup", "q1_double"]


def test_files_that_a_student_put_beside_the_release_stay(course):
    notes = course.folder("release") / "tiny/notes.txt"
    notes.write_text("mine")
    release(course, "tiny", course.folder("release"))
    assert notes.read_text() == "mine"


def test_a_source_that_nbgrader_refuses_leaves_the_old_release(course):
    before = released_text(course)
    cells = source_cells()
    cells[2].source = cells[2].source.replace("### END SOLUTION", "")
    write(course.source_folder("tiny") / "tiny.ipynb", cells)
    with pytest.raises(AutograderError, match=r"nbgrader cannot release .*solution"):
        release(course, "tiny", course.folder("release"))
    assert released_text(course) == before


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The real course's student bundle, unpacked."""
    folder = tmp_path_factory.mktemp("bundle")
    course, made = Course.find(REPO), []
    for name in course.assignments():
        made += release(course, name, folder / "exercises")
    stray = folder / "exercises/ex3_attention/.ipynb_checkpoints/my_solution_key.ipynb"
    stray.parent.mkdir()
    stray.write_text("answers")
    with zipfile.ZipFile(write_bundle(course, folder / "exercises", made, folder)) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked" / "unmasked"


def test_the_bundle_holds_the_course_and_the_exercises(bundle):
    for name in ("README.md", "bootstrap.py", "course/00_start_here.ipynb", "course/unmasked/attention.py",
                 "exercises/ex3_attention/ex3_attention.ipynb"):  # fmt: skip
        assert (bundle / name).is_file(), name


def test_the_bundle_holds_no_solutions_tests_mutants_or_sample_answers(bundle):
    folders = {path.relative_to(bundle).parts[0] for path in bundle.rglob("*")}
    assert folders.isdisjoint({"solutions", "tests", "build", ".git"})
    assert not (bundle / "autograder/sample_class").exists()
    assert not list(bundle.rglob("*solution_key*"))  # what happened to lie in exercises/
    assert "make grade" not in (bundle / "README.md").read_text(encoding="utf-8")
    for path in bundle.rglob("*"):
        if path.suffix in {".ipynb", ".md"}:
            assert "BEGIN HIDDEN TESTS" not in path.read_text(encoding="utf-8"), path


def test_no_line_of_a_solution_stands_in_the_bundled_exercises(bundle):
    from autograder.assignment import SOLUTION, read_source

    course = Course.find(REPO)
    for name in course.assignments():
        exercises = "".join(p.read_text(encoding="utf-8") for p in (bundle / "exercises" / name).rglob("*.ipynb"))
        for source in read_source(course.source_folder(name)):
            for cell in source.node.cells:
                for solution in SOLUTION.finditer(cell.source):
                    for line in solution[0].splitlines()[1:-1]:
                        if len(line.strip()) > 12:
                            assert json.dumps(line.strip())[1:-1] not in exercises, line
