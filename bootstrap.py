"""Make .venv and install the exact versions of requirements.lock in it. Needs Python 3.11 or newer and nothing else.

    python3 bootstrap.py

Run by every target of the Makefile that needs it; running it again when nothing changed does nothing.
(The syntax is old on purpose: an old Python must get as far as the message that names it.)
"""

import hashlib
import os
import platform
import subprocess
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "installed")
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def main():
    refuse_if_missing()
    fingerprint = hash_of("requirements.lock", "pyproject.toml")
    there = os.path.exists(PYTHON)
    if there and read(STAMP) == fingerprint:
        return
    if not there or read(STAMP + "-in") not in (None, ROOT):  # damaged, or the course's folder was moved
        say("making .venv with Python " + platform.python_version())
        run([sys.executable, "-m", "venv", "--clear", VENV], "Delete the folder .venv and try again.")
    say("installing requirements.lock into .venv: 1 to 5 minutes, 2 GB of disk")
    pip = [PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    cure = "Is the package index reachable? Run the same command again: what was downloaded is kept."
    run(pip + cpu_build_of_torch() + ["-r", os.path.join(ROOT, "requirements.lock")], cure)
    run(pip + ["--no-deps", "-e", ROOT], cure)
    write(STAMP + "-in", ROOT)
    write(STAMP, fingerprint)
    say("ready")


def refuse_if_missing():
    """Name what is missing, and the command that installs it."""
    if sys.version_info < (3, 11):
        stop(
            "Python 3.11 or newer is needed; this is " + platform.python_version() + " (" + sys.executable + ").\n"
            "  Debian, Ubuntu: sudo apt-get install python3.11 python3.11-venv\n"
            "  macOS:          brew install python@3.11\n"
            "  Windows:        winget install Python.Python.3.11\n"
            "then: make PYTHON=python3.11 ...   or: python3.11 bootstrap.py"
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        stop(
            "This Python has no venv module. On Debian and Ubuntu: sudo apt-get install python3-venv\n"
            "(for another Python than the system's: python%d.%d-venv)" % sys.version_info[:2]
        )


def cpu_build_of_torch():
    """On Linux without an NVIDIA GPU the CPU build spares a download of several GB, where its index can be had."""
    if not sys.platform.startswith("linux") or os.path.exists("/dev/nvidiactl"):
        return []
    import urllib.request

    try:
        urllib.request.urlopen(TORCH_CPU_INDEX, timeout=5).close()
    except OSError:
        return []
    return ["--extra-index-url", TORCH_CPU_INDEX]


def hash_of(*names):
    digest = hashlib.sha256((sys.version + ROOT).encode())
    for name in names:
        digest.update((read(os.path.join(ROOT, name)) or "").encode())
    return digest.hexdigest()


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def run(command, cure):
    if subprocess.call(command) != 0:
        stop("this failed: " + " ".join(command) + "\n" + cure)


def say(line):
    sys.stdout.write("bootstrap: " + line + "\n")
    sys.stdout.flush()


def stop(line):
    sys.stderr.write("bootstrap: " + line + "\n")
    sys.exit(3)


if __name__ == "__main__":
    main()
