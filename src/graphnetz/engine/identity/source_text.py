"""Normalised source of a function in memory, verified against the code that really runs."""

from __future__ import annotations

import ast
import linecache
import warnings
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class _Module:
    """A file compiled again: its code and definitions by name and first line, and sources already written out."""

    codes: dict[tuple[str, int], list[CodeType]]
    definitions: dict[tuple[str, int], list[_Definition]]
    sources: dict[tuple[str, int], str | None] = field(default_factory=dict)


_MODULES: dict[tuple[str, int], _Module | None] = {}


def source_of(code: CodeType) -> str | None:
    """Return the source of a function without comments, docstrings and layout; None where there is none.

    The file is compiled again and its code compared with ``code``: a file edited after it was
    imported, or rewritten on import, does not describe what runs and counts as no source. So do
    lambdas, of which several can share a line.
    """
    if code.co_name == "<lambda>":
        return None
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    module = _compiled(code.co_filename, "".join(lines))
    if module is None:
        return None
    place = (code.co_qualname, code.co_firstlineno)
    same = module.codes.get(place, [])
    if len(same) != 1 or not _equal(same[0], code):
        return None
    if place not in module.sources:
        found = module.definitions.get((code.co_name, code.co_firstlineno), [])
        module.sources[place] = ast.unparse(_bare(found[0])) if len(found) == 1 else None
    return module.sources[place]


def _compiled(name: str, text: str) -> _Module | None:
    key = (name, hash(text))
    if key not in _MODULES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
                whole = compile(text, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            _MODULES[key] = None
            return None
        codes: dict[tuple[str, int], list[CodeType]] = {}
        _collect(whole, codes)
        _MODULES[key] = _Module(codes, _definitions(tree))
    return _MODULES[key]


def _collect(code: CodeType, codes: dict[tuple[str, int], list[CodeType]]) -> None:
    for item in code.co_consts:
        if isinstance(item, CodeType):
            codes.setdefault((item.co_qualname, item.co_firstlineno), []).append(item)
            _collect(item, codes)


def _equal(a: CodeType, b: CodeType) -> bool:
    return code_facts(a) == code_facts(b)


def code_facts(code: CodeType) -> tuple[Any, ...]:
    """Return everything of a code object that decides what it does: no file names, no line numbers."""
    constants = tuple(_constant(item) for item in code.co_consts)
    return (
        code.co_name, code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
    )  # fmt: skip


def _constant(item: Any) -> Any:
    if isinstance(item, CodeType):
        return code_facts(item)
    if isinstance(item, frozenset):
        return ("frozenset", tuple(sorted(repr(_constant(part)) for part in item)))
    if isinstance(item, tuple):
        return ("tuple", *(_constant(part) for part in item))
    return (type(item).__name__, repr(item))


def _definitions(tree: ast.Module) -> dict[tuple[str, int], list[_Definition]]:
    found: dict[tuple[str, int], list[_Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            found.setdefault((node.name, first), []).append(node)
    return found


def _bare(node: _Definition) -> ast.AST:
    """Copy without docstrings; decorators stay, they change what runs."""
    copy = ast.parse(ast.unparse(node))
    for part in ast.walk(copy):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = part.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                part.body = part.body[1:] or [ast.Pass()]
    return copy
