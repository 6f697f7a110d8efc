"""Text twins: nothing but outputs is lost on the way from text to notebook and back."""

import jupytext
import nbformat
import pytest
from tiny import REPO, source_cells

from autograder import twins
from autograder.errors import AutograderError

TEXT = """\
---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Padding masks

Text with a snowman: \u2603

+++ {"nbgrader": {"grade_id": "essay", "grade": true, "solution": true, "points": 3, "schema_version": 3}}

Write here.

+++

Another cell.

```{code-cell} ipython3
:tags: [setup, nbval-ignore-output]

print("one")
```

```{code-cell} ipython3
---
nbgrader:
  grade_id: q1
  grade: true
  points: 2
  solution: false
  locked: true
  schema_version: 3
---
%time x = 1
assert x == 1
```
"""


@pytest.fixture
def twin(tmp_path):
    path = tmp_path / "chapter.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_ids_come_from_the_grade_id_or_from_the_heading(twin):
    assert [cell.id for cell in twins.read_twin(twin).cells] == [
        "padding-masks", "essay", "padding-masks-2", "padding-masks-3", "q1",
    ]  # fmt: skip


def test_tags_and_nbgrader_metadata_arrive(twin):
    cells = twins.read_twin(twin).cells
    assert cells[1].metadata.nbgrader.points == 3 and cells[1].cell_type == "markdown"
    assert cells[3].metadata.tags == ["setup", "nbval-ignore-output"]
    assert cells[4].metadata.nbgrader == {
        "grade_id": "q1", "grade": True, "points": 2, "solution": False, "locked": True, "schema_version": 3,
    }  # fmt: skip
    assert cells[4].source == "%time x = 1\nassert x == 1"


def test_a_notebook_survives_the_way_to_text_and_back(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=source_cells())
    text = tmp_path / "tiny.md"
    jupytext.write(notebook, text, fmt="md:myst")
    back = twins.read_twin(text)
    for before, after in zip(notebook.cells, back.cells, strict=True):
        assert (before.source, before.cell_type, before.metadata) == (after.source, after.cell_type, after.metadata)


def test_building_twice_gives_the_same_bytes(twin):
    first = twins.build(twin).read_bytes()
    assert twins.build(twin).read_bytes() == first
    assert twins.differences(twin) == []


def test_an_edited_notebook_is_told_from_its_twin(twin):
    path = twins.build(twin)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[3].source = "print('two')"
    nbformat.write(notebook, path)
    assert twins.differences(twin) == [f"{path}, cell padding-masks-3: another source"]


def test_a_failing_cell_leaves_the_old_notebook(twin):
    before = twins.build(twin).read_bytes()
    twin.write_text(TEXT.replace("assert x == 1", "assert x == 2"), encoding="utf-8")
    with pytest.raises(AutograderError, match="a cell failed"):
        twins.build(twin, run=True)
    assert twin.with_suffix(".ipynb").read_bytes() == before


def test_running_stores_outputs_and_no_times(twin):
    notebook = nbformat.read(twins.build(twin, run=True), as_version=4)
    assert notebook.cells[3].outputs[0].text == "one\n"
    assert "execution" not in notebook.cells[3].metadata
    assert twins.differences(twin) == []


def test_the_command_line_names_what_is_missing(tmp_path, capsys):
    assert twins.main([str(tmp_path / "nope.md")]) == 2
    assert "nope.md does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("twin", sorted([*REPO.glob("course/*.md"), *REPO.glob("solutions/*/*.md")]), ids=str)
def test_every_notebook_of_the_repository_is_what_its_twin_says(twin):
    assert twins.differences(twin) == []
