"""What compiled code reaches for: the names it loads, the modules it imports, and calls that nobody can follow."""

from __future__ import annotations

import dis
import functools
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Chain = tuple[str, ...]

_NOISE = {"CACHE", "PRECALL", "PUSH_NULL", "RESUME", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "COPY_FREE_VARS"}
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_LOCAL = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "STORE_FAST_LOAD_FAST")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_IMPORTERS = {"import_module", "__import__"}

BUILTINS = {"exec": "exec", "eval": "eval", "compile": "compile", "globals": "globals()"}
"""Built-in functions that run text or reach any global; what they do is not written in the code that calls them."""
_OPAQUE: Mapping[Chain, str] = {
    ("sys", "modules"): "sys.modules",
    ("jit", "load"): "torch.jit.load",  # opens its file without Python's help, so that no read would be seen
    **{(name,): name for name in (
        "builtins", "__builtins__", "runpy", "spec_from_file_location", "exec_module", "load_module", "load_source",
        "run_path", "run_module", "SourceFileLoader",
    )},
}  # fmt: skip
_MARKED = _IMPORTERS.union(*_OPAQUE)


@dataclass(frozen=True)
class Import:
    """One import that a function makes: the module, and which variable gets the module or an attribute of it."""

    module: str
    level: int
    bound: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scan:
    """What one function reaches for, the functions inside it included.

    ``chains`` tells for each variable which attributes are taken of it one after another; an empty chain means that
    the value itself goes somewhere. ``opaque`` names what cannot be followed.
    """

    globals: tuple[str, ...]
    chains: Mapping[str, frozenset[Chain]]
    imports: tuple[Import, ...]
    opaque: tuple[str, ...]


@functools.lru_cache(maxsize=8192)
def scan(code: types.CodeType) -> Scan:
    """Return what ``code`` reaches for.

    Examples
    --------
    >>> def forward(x):
    ...     import helper
    ...     return helper.scale.value * x + FACTOR
    >>> found = scan(forward.__code__)
    >>> found.globals, found.imports[0].module, sorted(found.chains["helper"])
    (('FACTOR',), 'helper', [('scale', 'value')])
    """
    found = _Found()
    found.read(code)
    return Scan(
        tuple(sorted(found.globals)),
        {name: frozenset(chains) for name, chains in found.chains.items()},
        tuple(found.imports),
        tuple(sorted(found.opaque)),
    )


class _Found:
    def __init__(self) -> None:
        self.globals: set[str] = set()
        self.chains: dict[str, set[Chain]] = defaultdict(set)
        self.imports: list[Import] = []
        self.opaque: set[str] = set()

    def read(self, code: types.CodeType) -> None:
        steps = [step for step in dis.get_instructions(code) if step.opname not in _NOISE]
        for at, step in enumerate(steps):
            if step.opname in _GLOBAL:
                self.globals.add(step.argval)
                self._load(step.argval, steps, at + 1)
            elif step.opname.startswith(_LOCAL):
                names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
                if len(names) > 1 and step.opname.startswith("LOAD"):
                    self.chains[names[0]].add(())  # two loads in one step: the first value is used as it is
                self._load(names[-1], steps, at + 1)
            elif step.opname == "IMPORT_NAME":
                self._import(step.argval, steps, at)
        for item in code.co_consts:
            if isinstance(item, types.CodeType):
                self.read(item)

    def _load(self, name: str, steps: Sequence[dis.Instruction], after: int) -> None:
        chain = _chain(steps, after)
        self.chains[name].add(chain)
        whole = (name, *chain)
        if _MARKED.isdisjoint(whole):
            return
        self.opaque |= {word for mark, word in _OPAQUE.items() if _within(mark, whole)}
        if not _IMPORTERS.isdisjoint(whole):
            self._import_by_call(whole, steps, after + len(chain))

    def _import(self, module: str, steps: Sequence[dis.Instruction], at: int) -> None:
        level, wanted = steps[at - 2].argval, steps[at - 1].argval
        rest = steps[at + 1 :]
        if wanted is None:  # `import a.b` gives a; `import a.b as c` takes b from it and gives that
            target = next(step for step in rest if step.opname.startswith("STORE_"))
            plain = rest[0] is target
            self.imports.append(Import(module, level, (("." if plain else "", _stored(target)),)))
            return
        self.imports.append(Import(module, level, tuple(_taken(rest))))

    def _import_by_call(self, whole: Chain, steps: Sequence[dis.Instruction], at: int) -> None:
        """``import_module("name")``: followed when the name is written there, and nothing else is given."""
        literal = [step.opname for step in steps[at : at + 2]] == ["LOAD_CONST", "CALL"]
        if not literal or whole[-1] not in _IMPORTERS or not isinstance(steps[at].argval, str):
            self.opaque.add(f"{whole[-1]} with a name that is not written in the call")
            return
        module = steps[at].argval
        result = at + 2
        if result < len(steps) and steps[result].opname.startswith("STORE_"):
            variable = _stored(steps[result])
        else:
            variable = f"<{module}>"
            self.chains[variable].add(_chain(steps, result))
        top = "." if whole[-1] == "__import__" else ""  # which gives the package, as the statement does
        self.imports.append(Import(module, 0, ((top, variable),)))


def _chain(steps: Sequence[dis.Instruction], at: int) -> Chain:
    parts: list[str] = []
    while at < len(steps) and steps[at].opname in _ATTRIBUTE:
        parts.append(steps[at].argval)
        at += 1
    return tuple(parts)


def _within(mark: Chain, whole: Chain) -> bool:
    return any(whole[at : at + len(mark)] == mark for at in range(len(whole) - len(mark) + 1))


def _taken(rest: Sequence[dis.Instruction]) -> Iterator[tuple[str, str]]:
    """Attributes that a ``from`` import takes, and the variables they go to."""
    for taken, stored in zip(rest[::2], rest[1::2], strict=False):
        if taken.opname != "IMPORT_FROM":
            return
        yield taken.argval, _stored(stored)


def _stored(step: dis.Instruction) -> str:
    return str(step.argval[0] if isinstance(step.argval, tuple) else step.argval)
