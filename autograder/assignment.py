"""The instructor's side of an assignment: its notebooks, their cells, the questions and their points."""

import ast
import re
import symtable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.errors import AutograderError

SOLUTION = re.compile(r"^([ \t]*)[^\n]*BEGIN SOLUTION.*?END SOLUTION[^\n]*", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*\n?", re.DOTALL)


@dataclass(frozen=True)
class Question:
    """What a student answers and what it is worth: answer cells and the test cells that follow them.

    A cell that is both (an answer graded by hand) is a question of its own.
    """

    name: str  # the grade_id of its first cell
    answers: tuple[str, ...]  # grade_ids
    tests: tuple[str, ...]  # grade_ids
    points: float


@dataclass(frozen=True)
class SourceNotebook:
    """One source notebook, as read from the instructor's folder."""

    path: Path
    node: NotebookNode

    @property
    def name(self) -> str:
        """nbgrader's notebook_id: the file's name without its ending."""
        return self.path.stem

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        groups: list[list[NotebookNode]] = []
        for cell in self.node.cells:
            if is_answer(cell) and (not groups or any(is_graded(c) for c in groups[-1])):
                groups.append([cell])
            elif is_answer(cell) or (is_graded(cell) and groups):
                groups[-1].append(cell)
            elif is_graded(cell):
                groups.append([cell])
        return tuple(
            Question(
                name=grade_id(group[0]),
                answers=tuple(grade_id(c) for c in group if is_answer(c)),
                tests=tuple(grade_id(c) for c in group if is_graded(c)),
                points=sum(points(c) for c in group if is_graded(c)),
            )
            for group in groups
        )

    @cached_property
    def answer_names(self) -> dict[str, set[str]]:
        """For each answer cell's grade_id, the names that its solution defines and a test reads."""
        tested = set().union(*(names_read(cell) for cell in self.node.cells if is_test(cell)))
        return {grade_id(cell): names_bound(cell) & tested for cell in self.node.cells if is_answer(cell)}

    @cached_property
    def out_of_reach(self) -> list[str]:
        """Dotted names that answers may not use: the list OUT_OF_REACH of a cell tagged `setup`."""
        for cell in self.node.cells:
            if "setup" in cell.metadata.get("tags", []):
                for statement in ast.parse(as_python(cell.source)).body:
                    if isinstance(statement, ast.Assign) and _target(statement) == "OUT_OF_REACH":
                        return ast.literal_eval(statement.value)
        return []


def read_notebook(path: Path) -> NotebookNode:
    """Any nbformat 3 to 4.5 notebook, as version 4.

    Raises:
        AutograderError: the file is missing, not UTF-8, not JSON, or not a notebook.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        node = nbformat.reads(text, as_version=4)
        nbformat.validate(node)
        return node
    except OSError as error:
        problem = error.strerror
    except UnicodeDecodeError:
        problem = "it is not text in UTF-8"
    except nbformat.ValidationError as error:
        problem = f"it is not a valid notebook ({error.message.splitlines()[0][:120]})"
    except Exception:  # nbformat raises many kinds, AttributeError among them, for JSON that is no notebook
        problem = "it is empty" if not text.strip() else "it is not a notebook (JSON with a list of cells)"
    raise AutograderError(f"{path} cannot be read: {problem}.", "Get the file again from where it came.")


def read_source(folder: Path) -> tuple[SourceNotebook, ...]:
    """The source notebooks of an assignment's folder, by name."""
    return tuple(SourceNotebook(path, read_notebook(path)) for path in sorted(folder.glob("*.ipynb")))


def grade_id(cell: NotebookNode) -> str:
    """nbgrader's name for a cell; "" for cells that are none of its business."""
    name = _settings(cell).get("grade_id", "")
    return name if isinstance(name, str) else ""


def is_answer(cell: NotebookNode) -> bool:
    """A cell that the student writes in."""
    return bool(_settings(cell).get("solution"))


def is_graded(cell: NotebookNode) -> bool:
    """A cell with points: tests, an answer graded by hand, or one of nbgrader's tasks."""
    settings = _settings(cell)
    return bool(settings.get("grade") or settings.get("task"))


def is_test(cell: NotebookNode) -> bool:
    """A cell of automatic tests: graded code that the student does not write."""
    return is_graded(cell) and not is_answer(cell) and cell.cell_type == "code"


def points(cell: NotebookNode) -> float:
    """What a graded cell is worth."""
    return float(cell.metadata.nbgrader.get("points") or 0)


def visible_part(source: str) -> str:
    """A test cell's source without its hidden tests."""
    return HIDDEN.sub("", source).strip()


def names_bound(cell: NotebookNode) -> set[str]:
    """Names that a code cell defines at its top level."""
    if cell.cell_type != "code":
        return set()
    table = symtable.symtable(as_python(cell.source), "cell", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}


def names_read(cell: NotebookNode) -> set[str]:
    """Global names that a cell reads, inside its functions and comprehensions too."""
    names: set[str] = set()
    if cell.cell_type != "code":
        return names

    def visit(table: symtable.SymbolTable) -> None:
        top = table.get_type() == "module"
        names.update(s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global()))
        for child in table.get_children():
            visit(child)

    visit(symtable.symtable(as_python(cell.source), "cell", "exec"))
    return names


def as_python(source: str) -> str:
    """A cell's source without IPython's magics and shell lines; nothing if it is not Python even so."""
    text = without_magics(source)
    try:
        ast.parse(text)
        return text
    except (SyntaxError, ValueError):  # ValueError: a null byte
        return ""


def without_magics(source: str) -> str:
    """A cell's source with empty lines for IPython's magics and shell lines."""
    return re.sub(r"^\s*[%!].*$", "", source, flags=re.MULTILINE)


def _settings(cell: NotebookNode) -> dict:
    """nbgrader's metadata; {} where a student's notebook holds something else under that key."""
    settings = cell.metadata.get("nbgrader", {})
    return settings if isinstance(settings, dict) else {}


def _target(statement: ast.Assign) -> str:
    first = statement.targets[0]
    return first.id if isinstance(first, ast.Name) else ""
