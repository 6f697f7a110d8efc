"""Runs an assignment's notebook with other answers in it, and says of each cell how it ended.

    outcomes = run(solution("ex3_attention"), {"q2_causal_mask": "def causal_mask(T): ..."})
    outcomes["q2_visible"].passed, outcomes["q2_visible"].error

The cells run in order in one fresh namespace, past those that fail, as in nbgrader. Each run is a forked
child: it inherits the imports of this process and leaves nothing behind. What comes back is JSON.
"""

import contextlib
import io
import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib
import torch
from nbformat import NotebookNode

from autograder.assignment import SourceNotebook, grade_id, read_source
from autograder.out_of_reach import forbid

matplotlib.use("Agg")
torch.set_num_threads(1)  # before any operation: a fork does not survive a pool of threads

import matplotlib.pyplot  # noqa: E402  (imported once, here, so that no child has to)

ROOT = Path(__file__).resolve().parents[2]


@cache
def solution(assignment: str) -> SourceNotebook:
    """The source notebook of an assignment that has one notebook."""
    (notebook,) = read_source(ROOT / "solutions" / assignment)
    return notebook


@dataclass(frozen=True)
class Outcome:
    """How one cell ended. A cell that was not reached has not passed."""

    passed: bool
    error: str = ""  # "ValueError: what it said"
    stderr: str = ""  # plain nbgrader gives no points to a test cell that writes here


def run(source: SourceNotebook, answers: dict[str, str], seconds: float = 20) -> dict[str, Outcome]:
    """The outcome of every code cell that has a grade_id, with the given sources in the answer cells.

    Args:
        source: the instructor's notebook; `answers` replaces the sources of its cells by grade_id.
        seconds: after which the child is killed. The cells it had not finished have not passed.
    """
    unknown = answers.keys() - {grade_id(cell) for cell in source.node.cells}
    assert not unknown, f"no cell of {source.path.name} has the grade_id {sorted(unknown)}"
    cells = [cell for cell in source.node.cells if cell.cell_type == "code"]
    names = [grade_id(cell) for cell in cells if grade_id(cell)]

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _run_in_child(cells, answers, source.out_of_reach, write)  # does not return
    os.close(write)
    finished = {line["cell"]: Outcome(line["passed"], line["error"], line["stderr"]) for line in _lines(read, seconds)}
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    unfinished = Outcome(False, "not finished: the process died or ran out of time")
    return {name: finished.get(name, unfinished) for name in names}


def _run_in_child(cells: list[NotebookNode], answers: dict[str, str], out_of_reach: list[str], pipe: int) -> None:
    try:
        forbid(out_of_reach)
        namespace = {"__name__": "__main__"}
        for cell in cells:
            error, errors = "", io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
                try:
                    exec(compile(answers.get(grade_id(cell), cell.source), grade_id(cell) or "cell", "exec"), namespace)
                except BaseException as raised:  # a cell may call exit()
                    error = f"{type(raised).__name__}: {raised}"
            line = {"cell": grade_id(cell), "passed": not error, "error": error, "stderr": errors.getvalue()}
            os.write(pipe, json.dumps(line).encode() + b"\n")
    except BaseException as raised:
        print(f"the runner itself failed: {raised!r}", file=sys.__stderr__)
    finally:
        os._exit(0)  # not sys.exit: pytest of the parent must not go on in the child


def _lines(pipe: int, seconds: float) -> list[dict]:
    """What the child wrote until it closed its end or the time was up."""
    deadline, received = time.monotonic() + seconds, b""
    while (left := deadline - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 65536)
        if not part:
            break
        received += part
    os.close(pipe)
    return [json.loads(line) for line in received.split(b"\n")[:-1]]
