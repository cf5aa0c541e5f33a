"""A scan for programs named by a path that not every machine has; part of `make lint`.

Only /bin/sh and /usr/bin/env are at the same place on Debian, on NixOS and in a Nix build. Read are
the strings of Python files, docstrings and comments excepted; vm-tests/debian/ and
tests/nix/build/ know which system they are on.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("bench", "chaos", "tests", "vm-tests")
LEFT_OUT = (
    Path("vm-tests/debian"),
    Path("tests/nix/build"),
    Path("tests/test_absolute_paths.py"),  # names some, as examples
)
# a folder of programs at the root, on its own (in a PATH) or with a program in it
PATH = re.compile(r"(?<![\w}.*?$-])/(?:usr/(?:local/)?)?s?bin(?![\w-])(?:/[\w.+-]+)?")
NOT_RUN = "# not run here"
"""On the line of a path, or on the one before it, for text that only looks like a command."""
ALLOWED = {"/bin/sh", "/usr/bin/env"}


def docstrings(tree: ast.AST) -> set[int]:
    """The ids of the nodes that are a docstring."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant() as first), *_]:
                    found.add(id(first))
    return found


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string; `}` stands for what is filled in."""
    passed = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else "}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in passed:
            if isinstance(node.value, bytes):
                yield node.lineno, node.value.decode("latin-1")
            elif isinstance(node.value, str):
                yield node.lineno, node.value


def in_source(source: str) -> Iterator[tuple[int, str]]:
    """Line and path of each program that a Python source names by an absolute path."""
    lines = source.splitlines()
    for first, text in strings(ast.parse(source)):
        for match in PATH.finditer(text):
            line = first + text.count("\n", 0, match.start())
            if match[0] not in ALLOWED and NOT_RUN not in "".join(lines[max(line - 2, 0) : line]):
                yield line, match[0]


def main() -> int:
    """Print each finding as `file:line: what`; 1 when there is one."""
    found = 0
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT)
            if any(name.is_relative_to(left_out) for left_out in LEFT_OUT):
                continue
            for line, path in in_source(file.read_text()):
                sys.stdout.write(
                    f"{name}:{line}: {path} is not on every machine;"
                    " let PATH find it (support.programs.full_path where there is no PATH)\n"
                )
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
