"""What the tests of the assignments share: the releases that nbgrader makes of the solutions."""

import os
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest
from cells import ROOT
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from autograder.assignment import SourceNotebook, read_source


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """A function: the release of an assignment, made by plain nbgrader in a temporary folder."""

    @cache
    def make(assignment: str) -> SourceNotebook:
        folder = tmp_path_factory.mktemp("course")
        shutil.copytree(ROOT / "solutions" / assignment, folder / "source" / assignment)
        config = Config()
        config.CourseDirectory.root = str(folder)
        config.CourseDirectory.db_url = f"sqlite:///{folder}/gradebook.db"
        config.CourseDirectory.ignore = ["*.md"]
        with pytest.MonkeyPatch.context() as patch:  # nbgrader calls alembic, which is installed beside Python
            patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
            outcome = NbGraderAPI(config=config).generate_assignment(assignment)
        assert outcome["success"], outcome
        (notebook,) = read_source(folder / "release" / assignment)
        return notebook

    return make
