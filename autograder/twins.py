"""Notebooks and their text twins: MyST Markdown is what people edit, the .ipynb is built from it.

    python -m autograder.twins course/*.md            # convert only
    python -m autograder.twins --run course/*.md      # convert, run, store the outputs

The twin holds all but the outputs: sources, tags and nbgrader's metadata. Cell ids are derived, so that
building twice gives the same notebook: a cell with a grade_id takes it; any other takes the heading it
stands under and its place there ("padding-masks-3").
"""

import os
import re
import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from autograder.errors import AutograderError
from autograder.kernels import over_ipc

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}
ID_LENGTH = 64  # nbformat 4.5: a cell id has 1 to 64 characters of [a-zA-Z0-9-_]


def read_twin(text_path: Path) -> nbformat.NotebookNode:
    """The notebook that a MyST Markdown file stands for, without outputs and with derived cell ids.

    Raises:
        AutograderError: the file is missing, or two of its cells carry the same grade_id.
    """
    try:
        notebook = jupytext.read(text_path, fmt="md:myst")
    except FileNotFoundError:
        raise AutograderError(f"{text_path} does not exist.", "Check the path.") from None
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    _assign_ids(notebook, text_path)
    return notebook


def build(text_path: Path, run: bool = False) -> Path:
    """Write the .ipynb beside its twin and return its path; with `run`, execute it and keep the outputs.

    The file is replaced only when the whole notebook ran: a failing cell leaves the old one as it was.

    Raises:
        AutograderError: a cell raised an error (the message holds the cell and the traceback).
    """
    notebook = read_twin(text_path)
    if run:
        try:
            execute(notebook, text_path.parent)
        except CellExecutionError as error:
            raise AutograderError(f"{text_path}: a cell failed.\n{error}", exit_code=1) from None
    target = text_path.with_suffix(".ipynb")
    write_notebook(notebook, target)
    return target


def execute(notebook: nbformat.NotebookNode, folder: Path, allow_errors: bool = False) -> None:
    """Run a notebook in place, its working directory being `folder`.

    Raises:
        CellExecutionError: a cell raised an error and `allow_errors` is false.
    """
    with over_ipc() as config:
        NotebookClient(
            notebook,
            config=config,
            timeout=600,
            kernel_name="python3",
            allow_errors=allow_errors,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
        ).execute()
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO})


def differences(text_path: Path) -> list[str]:
    """What differs between a twin and its .ipynb, outputs aside; empty when they say the same."""
    target = text_path.with_suffix(".ipynb")
    if not target.exists():
        return [f"{target} is missing"]
    wanted, found = read_twin(text_path).cells, nbformat.read(target, as_version=4).cells
    if len(wanted) != len(found):
        return [f"{target} has {len(found)} cells and its twin has {len(wanted)}"]
    return [
        f"{target}, cell {want.id}: another {part}"
        for want, have in zip(wanted, found, strict=True)
        for part in ("id", "cell_type", "source", "metadata")
        if want[part] != have[part]
    ]


def write_notebook(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Validate and write a notebook in one step, so that a reader never meets half a file."""
    nbformat.validate(notebook)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    os.replace(partial, path)


def _assign_ids(notebook: nbformat.NotebookNode, path: Path) -> None:
    heading, taken = "top", set()
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := re.match(r"#+\s+(.*)", cell.source)):
            heading = re.sub(r"[^a-z0-9]+", "-", found[1].lower()).strip("-") or "top"
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in taken:
            raise AutograderError(f"{path}: two cells have the grade_id '{grade_id}'.", "Give one of them another.")
        cell.id = grade_id or _free_id(heading, taken)
        taken.add(cell.id)


def _free_id(heading: str, taken: set[str]) -> str:
    stem = heading[: ID_LENGTH - 4].strip("-")
    numbered = (stem if n == 1 else f"{stem}-{n}" for n in range(1, 1000))
    return next(name for name in numbered if name not in taken)


def main(arguments: list[str]) -> int:
    run, paths = "--run" in arguments, [Path(a) for a in arguments if a != "--run"]
    for path in paths:
        try:
            print(f"{'running' if run else 'building'} {path}", flush=True)
            build(path, run)
        except AutograderError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
