"""What the autograder raises when an input is at fault: a sentence that says what, where and what to do."""


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
