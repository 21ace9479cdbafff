"""Changes of one thing in a module: a comparison, a sign, a constant, a condition, a returned value, a statement.

`everything` lists them for the packages that `benchmarks/mutants.py` tries, in an order that a seed decides and that
stays when other modules change.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGES = ("engine/store", "stats", "analysis")

COMPARES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
              ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed place: bytes from ``start`` to ``end`` of a file become ``text``.

    ``where`` is the function it stands in, empty for what runs at import; ``number`` tells equal changes of one
    function apart; ``lines`` are those that a test must run to notice.
    """

    package: str
    file: str
    line: int
    kind: str
    before: str
    text: str
    start: int
    end: int
    where: str
    number: int
    lines: tuple[int, int]

    @property
    def name(self) -> str:
        """The mutant without line numbers: it keeps its name when code above it changes."""
        return f"{self.file} {self.where} {self.kind} {self.before} {self.text} {self.number}"

    def applied(self, source: bytes) -> bytes:
        """Return the changed source of its file."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(package: str, path: Path) -> Iterator[Mutant]:
    """Every mutant of one module."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    hidden, seen = set(_untouched(tree)), Counter[tuple[str, str, str, str]]()
    for node, where, first in _placed(tree):
        if node in hidden:
            continue
        for kind, changed in _changes(node):
            begin, end = (starts[row - 1] + column for row, column in
                          ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)))  # fmt: skip
            text = ast.unparse(changed)
            text = text if isinstance(changed, ast.stmt) else f"({text})"
            before = source.encode()[begin:end].decode()
            seen[where, kind, before, text] += 1
            yield Mutant(package, str(path.relative_to(SOURCE)), node.lineno, kind, before, text, begin, end, where,
                         seen[where, kind, before, text], (min(first, node.lineno), node.end_lineno))  # fmt: skip


def _placed(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int]]:
    """Every node with the function whose body holds it and the first line of its statement."""

    def walk(node: ast.AST, path: tuple[str, ...], inside: bool, first: int) -> Iterator[tuple[ast.AST, str, int]]:
        yield node, ".".join(path) if inside else "", first
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        body = set(map(id, node.body)) if named else set()
        for child in ast.iter_child_nodes(node):
            begin = child.lineno if isinstance(child, ast.stmt) else first
            if id(child) in body:  # not decorators and defaults, which run where the function is made
                yield from walk(child, (*path, node.name), inside or not isinstance(node, ast.ClassDef), begin)
            else:
                yield from walk(child, path, inside, begin)

    yield from walk(tree, (), False, 1)


def _untouched(tree: ast.Module) -> Iterator[ast.AST]:
    """Types, texts, error messages and defaults of settings: nothing is computed there."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list, *node.bases]
        elif (
            isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)
            or (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("warn", "TypeVar", "cast"))
            or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__",))
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ):
            parts = [node]
        for part in parts:
            if part is not None:
                yield from ast.walk(part)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[i] = COMPARES[type(operator)]()
            yield "comparison", other
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes)):
            other = copy.deepcopy(node)
            other.op = ARITHMETIC[type(node.op)]()
            yield "arithmetic", other
    elif isinstance(node, ast.BoolOp):
        other = copy.deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "negation", copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", ast.Constant(value)
    elif isinstance(node, ast.IfExp):
        other = copy.deepcopy(node)
        other.test = ast.UnaryOp(ast.Not(), other.test)
        yield "condition", other
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        logical = isinstance(node.value, ast.Compare | ast.BoolOp)
        yield "return", ast.Return(ast.UnaryOp(ast.Not(), node.value) if logical else ast.Constant(None))
    elif isinstance(node, ast.AugAssign | ast.Delete) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "removed statement", ast.Pass()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def everything(seed: int = 0) -> dict[str, list[Mutant]]:
    """Return all mutants by package; the first N of a package are a random sample of N."""
    found = {}
    for package in PACKAGES:
        paths = sorted((SOURCE / "graphnetz" / package).glob("*.py"))
        mine = [m for path in paths if path.name != "__init__.py" for m in mutants_of(package, path)]
        found[package] = sorted(mine, key=lambda m: hashlib.sha256(f"{seed} {m.name}".encode()).digest())
    return found
