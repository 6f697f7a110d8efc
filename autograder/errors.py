"""What the autograder raises when an input is at fault: a sentence that says what, where and what to do."""

import re


class AutograderError(Exception):
    """Bad input or a missing environment. The message is for a person; the command line prints it alone.

    Args:
        what: what is wrong, and where.
        cure: what to do about it.
        exit_code: 2 for wrong use, 3 for "could not run" (see the README's table of exit codes).
    """

    def __init__(self, what: str, cure: str = "", exit_code: int = 2):
        super().__init__(f"{what} {cure}".strip())
        self.exit_code = exit_code


def reason(outcome: dict) -> str:
    """Why a call of nbgrader's API failed: the last error that its log or its traceback names."""
    lines = [line.strip() for line in f"{outcome['error'] or ''}\n{outcome['log'] or ''}".splitlines()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt): ", line)]
    named = [line.split(": ", 1)[1] for line in raised if not line.startswith("nbgrader.converters.base")]
    return (named or [line for line in lines if line] or ["no reason given"])[-1]
