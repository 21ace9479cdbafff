"""Count code lines: without blanks, comments and docstrings. ``python scripts/code_lines.py [FOLDER]``."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "graphnetz"
#: `tests/packaging` holds the package to this; lower it when lines go, raise it only with a reason in the commit.
BOUND = 58_000
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Return the lines of a module that hold code; a bare string as a statement is documentation."""
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def count(folder: Path = SOURCE) -> Counter[str]:
    """Return the code lines of each package or module directly below ``folder``."""
    total: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        total[path.relative_to(folder).parts[0]] += code_lines(path.read_text(encoding="utf-8"))
    return total


if __name__ == "__main__":
    found = count(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
    for name, number in found.most_common():
        print(f"{number:7,} {name}")
    print(f"{found.total():7,} in all, at most {BOUND:,}")
