"""Two rules of nixfmt's layout, for machines where nixfmt cannot be had."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

LINE_LIMIT = 100
# nixfmt breaks no string and no path, and keeps it on the line of its `=`
STRINGS = ("string_expression", "path_expression", "hpath_expression", "spath_expression")
UNBREAKABLE_BEFORE = re.compile(r"\s*(inherit \()?([\w.'-]|\"[^\"]*\"|\$\{[^}]*\})*( = )?\(*$")
UNBREAKABLE_AFTER = re.compile(r"[\])};,]*$")

Finding = tuple[int, str]


def text(node: Node | None) -> str:
    """The source of a node; empty where there is none."""
    return node.text.decode() if node is not None and node.text is not None else ""


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def long_lines(source: str, root: Node) -> Iterator[Finding]:
    """Lines over the limit that nixfmt would break."""
    unbreakable: dict[int, Node] = {}
    whole: set[int] = set()
    for node in walk(root):
        first, last = node.start_point[0], node.end_point[0]
        if node.type in STRINGS and first == last:
            # the last one, and the outermost of strings in strings
            known = unbreakable.get(first)
            if known is None or node.start_point >= known.end_point:
                unbreakable[first] = node
        elif node.type in ("indented_string_expression", "comment"):
            whole.update(range(first + (node.type != "comment"), last + 1))
    for number, line in enumerate(source.splitlines()):
        if len(line) <= LINE_LIMIT or number in whole:
            continue
        string = unbreakable.get(number)
        if string is not None:
            # columns of a node count bytes
            raw = line.encode()
            before = raw[: string.start_point[1]].decode()
            after = raw[string.end_point[1] :].decode()
            if UNBREAKABLE_BEFORE.match(before) and UNBREAKABLE_AFTER.match(after):
                continue
        yield number, f"{len(line)} columns, more than {LINE_LIMIT}, and can be broken"


def calls_beside_their_name(root: Node) -> Iterator[Finding]:
    """Calls on the line of their `=` that have to begin on a line of their own.

    A call stays beside its name as long as each argument begins where the one before it ends, and
    one argument at most goes over several lines.
    """
    for node in walk(root):
        value = node.child_by_field_name("expression") if node.type == "binding" else None
        if value is None or value.start_point[0] != node.start_point[0]:
            continue
        broken, spanning = False, 0
        while value is not None and value.type == "apply_expression":
            function = value.child_by_field_name("function")
            argument = value.child_by_field_name("argument")
            if function is None or argument is None:
                break
            broken |= argument.start_point[0] != function.end_point[0]
            spanning += argument.start_point[0] != argument.end_point[0]
            value = function
        if broken or spanning > 1:
            yield node.start_point[0], "this call begins on a line of its own, below the `=`"
