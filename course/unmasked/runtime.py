"""Where a run happens and what makes it repeatable: the device, and the seeds."""

import random

import numpy as np
import torch


def device() -> torch.device:
    """The fastest device of this machine: an NVIDIA GPU (cuda), else an Apple GPU (mps), else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def seed_everything(seed: int) -> None:
    """Seeds Python's, NumPy's and PyTorch's global generators (PyTorch's on every device).

    The same seed gives the same numbers on the same machine and versions only: another device or
    another PyTorch draws and rounds differently.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
