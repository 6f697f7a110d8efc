"""A small course in a temporary folder, with the assignment of tiny.py."""

from pathlib import Path

import pytest
from tiny import REPO, source_cells, write

from autograder.course import Course
from autograder.release import release


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A course whose one assignment, `tiny`, is released and has no submission yet."""
    root = tmp_path / "course"
    write(root / "solutions/tiny/tiny.ipynb", source_cells())
    (root / "nbgrader_config.py").write_bytes((REPO / "nbgrader_config.py").read_bytes())
    monkeypatch.chdir(root)
    found = Course.find()
    release(found, "tiny", found.folder("release"))
    return found
