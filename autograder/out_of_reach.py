"""Puts out of reach, in this process, what an exercise asks the student to write.

An exercise on attention is not solved by calling `torch.nn.MultiheadAttention`. Its set-up cell lists such
names, and `forbid` makes each of them fail with a message that says why:

    forbid(["transformers", "torch.nn.MultiheadAttention"])
    import transformers         # ImportError: transformers is what this exercise asks you to write, so ...
    torch.nn.MultiheadAttention(8, 2)                                    # RuntimeError with the same message

It keeps honest students on the path. It is no sandbox: who looks for a way around it will find one.
There is no way back, so call it in a process of its own, before the first cell runs.
"""

import importlib
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType

from autograder.errors import AutograderError

MESSAGE = "{} is what this exercise asks you to write, so it is out of reach while grading."


def forbid(names: list[str]) -> None:
    """Make the dotted names fail: a module when imported, anything else when called.

    A module goes with all below it; one that hangs on its library (`torch.nn.attention`) stays there for the
    library's own use, without its public functions. A function or class goes wherever its library exports
    it (`torch.nn` and `torch.nn.modules.activation`, say). What is not installed is out of reach already.

    Raises:
        AutograderError: a library is there and has no such name (a typing error in the list).
    """
    modules, replaced = [], {}
    for name in names:
        parent_name, _, last = name.rpartition(".")
        parent = _reach(parent_name) if parent_name else None
        if parent_name and parent is None:
            continue
        target = getattr(parent, last, None) if parent else None
        if parent is None or isinstance(target, ModuleType):
            modules.append(name)
            for function, value in list(vars(target).items()) if target else []:
                if isinstance(value, FunctionType) and not function.startswith("_"):
                    setattr(target, function, _unreachable(name, value))
        elif callable(target):
            replaced[id(target)] = target, _unreachable(name, target)
            setattr(parent, last, replaced[id(target)][1])
        else:
            raise AutograderError(f"OUT_OF_REACH names '{name}', which does not exist.", "Mend the list.")
    _replace_exports({name.partition(".")[0] for name in names}, replaced)
    for loaded in [m for m in sys.modules if _belongs(m, modules)]:
        del sys.modules[loaded]
    sys.meta_path.insert(0, _RefusingFinder(modules))


class _RefusingFinder:
    """First in sys.meta_path, so it is asked about every import of a module that is not loaded yet."""

    def __init__(self, modules: list[str]):
        self._modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if _belongs(name, self._modules):
            raise ImportError(MESSAGE.format(name), name=name)


def _unreachable(name: str, target: Callable) -> Callable:
    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError(MESSAGE.format(name))

    if hasattr(target, "__wrapped__"):  # torch looks under its decorated functions when it sets up its compiler
        refuse.__wrapped__ = _unreachable(name, target.__wrapped__)
    # A class stays a class: the library itself may ask isinstance() of it, or derive another from it.
    return type(target.__name__, (), {"__new__": refuse}) if isinstance(target, type) else refuse


def _reach(name: str) -> object | None:
    """The module, class or object of that name; None if its library is not installed."""
    library, *rest = name.split(".")
    try:
        found = importlib.import_module(library)
    except ImportError:
        return None
    path = library
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part, None) or importlib.import_module(path)
        except ImportError:
            raise AutograderError(f"OUT_OF_REACH names '{path}', which does not exist.", "Mend the list.") from None
    return found


def _replace_exports(libraries: set[str], replaced: dict[int, tuple[object, Callable]]) -> None:
    modules = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] in libraries and m is not None]
    for module in modules if replaced else []:
        for attribute, value in list(vars(module).items()):
            if id(value) in replaced:
                setattr(module, attribute, replaced[id(value)][1])


def _belongs(module: str, forbidden: list[str]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in forbidden)
