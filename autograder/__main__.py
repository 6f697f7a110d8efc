"""Where the command `autograder` starts: it names what is missing before anything else can fail on it."""

import sys


def main() -> None:
    """Run the command line, if what it needs is installed."""
    try:
        from autograder.cli import main as run
    except ModuleNotFoundError as error:
        print(f"autograder: the package '{error.name}' is not installed. Run `python3 bootstrap.py` in the course's "
              "folder and use .venv/bin/autograder.", file=sys.stderr)  # fmt: skip
        sys.exit(3)
    run()


if __name__ == "__main__":
    main()
