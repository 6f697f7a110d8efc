"""Every chapter runs, with the network cut, to the very outputs that are stored in it (nbval, strict)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "course").glob("*.ipynb"))


def cut_network() -> list[str]:
    """The command that runs another one without a network; empty where the system cannot do it."""
    if shutil.which("unshare") is None:
        return []
    command = ["unshare", "--net", "--map-root-user", sys.executable, str(ROOT / "tests" / "offline.py")]
    return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_the_chapter_runs_offline_to_its_stored_outputs(chapter):
    if os.environ.get("CI") and not cut_network():
        pytest.fail("CI must cut the network, and `unshare --net` does not work here")
    nbval = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        str(chapter),
        "-p",
        "no:cacheprovider",
        "--nbval-cell-timeout=300",
    ]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    ended = subprocess.run([*cut_network(), *nbval], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    assert " passed" in ended.stdout
