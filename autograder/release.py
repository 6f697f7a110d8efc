"""From solutions/ to what students get: the release notebooks, and a bundle of everything a student needs."""

import io
import os
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

import nbformat
from nbgrader.apps import NbGraderAPI
from nbgrader.utils import compute_checksum

from autograder import twins
from autograder.assignment import grade_id, is_answer, read_notebook, read_source
from autograder.course import Course
from autograder.errors import AutograderError, reason

RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]+)?")
BUNDLE = "unmasked-student.zip"
BUNDLED = (
    "LICENSE", "NOTICE", "Makefile", "bootstrap.py", "pyproject.toml", "requirements.lock",
    "environment.yml", "nbgrader_config.py", "course", "autograder",
)  # fmt: skip
STUDENT_README = "autograder/student_readme.md"
NOT_BUNDLED = "autograder/sample_class/"


def release(course: Course, assignment: str, target: Path) -> list[Path]:
    """Write an assignment's release into `target`/assignment and return its files.

    A file is replaced only when the whole release is ready; whatever else lies in the folder stays.

    Raises:
        AutograderError: unknown assignment, or nbgrader refuses the source (its reason is in the message), or
            a notebook that would be replaced has been worked on.
    """
    destination = target / assignment
    with tempfile.TemporaryDirectory() as scratch:
        fresh = generate(course, assignment, Path(scratch))
        files = [path for path in sorted(fresh.rglob("*")) if path.is_file()]
        for file in files:
            _refuse_to_replace_work(destination / file.relative_to(fresh), file)
        for file in files:
            _replace(destination / file.relative_to(fresh), file.read_bytes())
        return [destination / file.relative_to(fresh) for file in files]


def generate(course: Course, assignment: str, target: Path, record: bool = False) -> Path:
    """Let nbgrader make the release in `target`; with `record`, store the source cells in the course's gradebook."""
    source = course.source_folder(assignment)
    read_source(source)  # a broken notebook is named before nbgrader meets it
    config = course.with_settings(release_directory=str(target))
    config.GenerateAssignment.no_database = not record
    config.SaveCells.enabled = record
    outcome = NbGraderAPI(config=config).generate_assignment(assignment, force=True)
    if not outcome["success"]:
        raise AutograderError(
            f"nbgrader cannot release {source}: {reason(outcome)}", "`autograder lint` names the cell.", exit_code=1
        )
    for path in (target / assignment).glob("*.ipynb"):
        _strip(path)
    return target / assignment


def write_bundle(course: Course, released: Path, exercises: list[Path], target: Path) -> Path:
    """Zip what a student needs: the course, the release and the means to install them. No solutions, no tests.

    Args:
        released: the folder of released assignments, which becomes exercises/ in the bundle.
        exercises: the files in it that a release has just made. Nothing else that lies there goes along.
        target: the zip file's folder.
    """
    files = [name for name in _files(course.root) if name.split("/")[0] in BUNDLED and not name.startswith(NOT_BUNDLED)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name in files:
            bundle.write(course.root / name, f"unmasked/{name}")
        bundle.write(course.root / STUDENT_README, "unmasked/README.md")
        for path in exercises:
            bundle.write(path, f"unmasked/exercises/{path.relative_to(released).as_posix()}")
    _replace(target / BUNDLE, buffer.getvalue())
    return target / BUNDLE


def _strip(path: Path) -> None:
    """Leave in a release only the metadata that nbgrader and Jupyter need, and no trace of the instructor's."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict({"kernelspec": twins.KERNELSPEC, "language_info": twins.LANGUAGE_INFO})
    notebook.nbformat_minor = 5
    for number, cell in enumerate(notebook.cells):
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k == "nbgrader"})
        cell.setdefault("id", grade_id(cell) or f"cell-{number}")  # a source older than nbformat 4.5 has none
    twins.write_notebook(notebook, path)


def _refuse_to_replace_work(path: Path, fresh: Path) -> None:
    """Look for signs of work: a changed answer, a cell that was run, a cell that was added.

    A released answer cell carries its own checksum, a release has no outputs, and a cell that an editor adds
    gets a random id.
    """
    if path.suffix != ".ipynb" or not path.exists():
        return
    known = {cell.id for cell in read_notebook(fresh).cells}
    for cell in read_notebook(path).cells:
        answered = is_answer(cell) and compute_checksum(cell) != cell.metadata.nbgrader.get("checksum")
        was_run = bool(cell.get("outputs") or cell.get("execution_count"))
        was_added = cell.get("id") not in known and RANDOM_ID.fullmatch(cell.get("id", ""))
        if answered or was_run or was_added:
            raise AutograderError(
                f"{path} has been worked on (cell {grade_id(cell) or cell.get('id')}) and would be replaced.",
                "Move it to another folder first.",
            )


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, so that no one ever meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def _files(root: Path) -> list[str]:
    """The course's own files, relative to its root: what git keeps, or in an unpacked bundle what is there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:
        names = [
            p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts
        ]
    return sorted(name for name in names if (root / name).is_file())
