"""The ways to install agree: the lock, environment.yml, pyproject.toml, and what CI runs is what the README says."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def locked() -> dict[str, Version]:
    lines = [line for line in text("requirements.lock").splitlines() if line and not line.startswith("#")]
    return {name(line.split("==")[0]): Version(line.split("==")[1]) for line in lines}


def name(project: str) -> str:
    """A project's name as the package index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", project).lower()


def test_every_package_that_is_asked_for_is_locked_at_a_version_that_was_asked_for():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    for requirement in map(Requirement, chain(project["dependencies"], *project["optional-dependencies"].values())):
        if requirement.name != "unmasked":
            assert locked()[name(requirement.name)] in requirement.specifier, requirement


def test_the_packages_that_the_course_is_about_are_there():
    for project in ("jupyterlab", "nbgrader", "numpy", "torch", "transformers", "matplotlib", "nbval"):
        assert project in locked()


def test_conda_installs_the_lock():
    environment = yaml.safe_load(text("environment.yml"))
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert pip == ["-r requirements.lock", "-e ."]
    (python,) = [e for e in environment["dependencies"] if isinstance(e, str) and e.startswith("python=")]
    assert python == "python=3.11"


def test_the_lock_names_no_cuda_package_and_no_place_to_download_from():
    assert not [project for project in locked() if project.startswith(("nvidia", "cuda", "triton"))]
    assert "://" not in text("requirements.lock") and "+" not in text("requirements.lock")


def test_what_runs_here_is_what_the_lock_says():
    from importlib.metadata import version

    for project in ("torch", "transformers", "nbgrader", "numpy"):
        assert Version(version(project)).public == str(locked()[project])


def test_ci_runs_the_commands_of_the_readme():
    commands = [line for line in text(".ci/run").splitlines() if line.startswith("make ")]
    assert commands == ["make grade", "make test"]
    for command in commands:
        assert command in text("README.md")
    assert "bash .ci/run" in text(".github/workflows/ci.yml")


def test_bootstrap_does_nothing_when_nothing_changed():
    if not (ROOT / ".venv" / "installed").exists():
        return  # the tests were started by hand, in another environment
    ended = subprocess.run([sys.executable, "bootstrap.py"], cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")
