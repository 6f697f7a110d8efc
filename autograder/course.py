"""Where things are: the course's root, and nbgrader's folders as nbgrader_config.py maps them."""

import copy
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.errors import AutograderError

CONFIG_FILE = "nbgrader_config.py"


@dataclass(frozen=True)
class Course:
    """A folder with an nbgrader_config.py. Paths are absolute; `config` is nbgrader's."""

    root: Path
    config: Config

    @classmethod
    def find(cls, start: Path | None = None) -> "Course":
        """The course that `start` (default: the current folder) lies in.

        It also puts this Python's scripts on PATH, because nbgrader makes a fresh gradebook by calling `alembic`.

        Raises:
            AutograderError: no nbgrader_config.py here or above, or one that does not run.
        """
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / CONFIG_FILE).exists():
                _scripts_on_path()
                return cls(folder, _load(folder))
        raise AutograderError(
            f"{start} is not inside a course: there is no {CONFIG_FILE} here or above.",
            "Change into the course's folder and try again.",
        )

    def directory(self, **overrides: str) -> CourseDirectory:
        """nbgrader's CourseDirectory for this course; `overrides` replace single settings."""
        return CourseDirectory(config=self.with_settings(**overrides))

    def with_settings(self, **overrides: str) -> Config:
        """nbgrader's configuration with some settings of its CourseDirectory replaced."""
        config = copy.deepcopy(self.config)
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.update(overrides)
        return config

    def folder(self, step: str) -> Path:
        """The folder of one of nbgrader's steps: source, release, submitted, autograded, feedback."""
        return self.root / getattr(self.directory(), f"{step}_directory")

    @property
    def build(self) -> Path:
        """Where everything goes that can be made again."""
        return self.root / "build"

    def source_folder(self, assignment: str) -> Path:
        """The folder with an assignment's source notebooks.

        Raises:
            AutograderError: no such assignment (the message lists those there are).
        """
        folder = self.folder("source") / assignment
        if assignment in self.assignments():
            return folder
        known = ", ".join(self.assignments()) or "none"
        raise AutograderError(
            f"There is no assignment '{assignment}': {folder} holds no notebook.", f"The assignments here: {known}."
        )

    def choose(self, names: list[str] | None) -> list[str]:
        """The assignments that a command is about: those named, or all.

        Raises:
            AutograderError: one of them does not exist, or the course has none.
        """
        for name in names or ():
            self.source_folder(name)
        if chosen := names or self.assignments():
            return chosen
        raise AutograderError(
            f"This course has no assignment: {self.folder('source')} holds no NAME/NAME.ipynb.",
            "A student bundle has none; an instructor's course does.",
        )

    def assignments(self) -> list[str]:
        """The names of all assignments, sorted."""
        return sorted({path.parent.name for path in self.folder("source").glob("*/*.ipynb")})


def _load(root: Path) -> Config:
    try:
        return PyFileConfigLoader(CONFIG_FILE, path=str(root)).load_config()
    except Exception as error:  # the file is code: anything can go wrong in it
        raise AutograderError(f"{root / CONFIG_FILE} cannot be used: {error!r}.", "Mend it and try again.") from None


def _scripts_on_path() -> None:
    scripts, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")
    if scripts not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([scripts, path])
