"""How kernels are reached: over IPC sockets in a folder of their own, not over TCP ports.

Over TCP two kernels that start at once can draw the same port (ipython#12372), and ipykernel 7 warns, with
reason, that others on the machine can listen.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traitlets.config import Config


@contextmanager
def over_ipc() -> Iterator[Config]:
    """Configuration for one kernel (nbclient, nbgrader); its sockets are gone when the context ends.

    On Windows, which has no such sockets, it changes nothing.
    """
    config = Config()
    if os.name == "nt":
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:  # short: a socket's path has at most 107 bytes
        config.KernelManager.transport = "ipc"
        config.KernelManager.ip = str(Path(folder) / "socket")
        yield config
