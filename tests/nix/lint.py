"""A small lint for Nix files, for machines where nixfmt, statix and deadnix cannot be had.

It reads the syntax tree (tree-sitter-nix) and reports `with`, bindings and arguments that nothing
uses, `x = x;` that `inherit` says shorter, tabs, trailing blanks and, of nixfmt's layout, what
layout.py knows. Syntax is left to `nix-instantiate --parse`, the rest of the layout to `nix fmt`
and the flake's formatting check.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_nix
from layout import Finding, calls_beside_their_name, long_lines, text, walk
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_nix.language()))


def used_names(node: Node) -> set[str]:
    """Every variable that is read below a node, `inherit x;` included."""
    names = {text(n) for n in walk(node) if n.type == "variable_expression"}
    for n in walk(node):
        if n.type == "inherit":
            names |= {text(i) for i in walk(n) if i.type == "identifier"}
    return names


def unused_bindings(let: Node) -> Iterator[Finding]:
    """Names of a `let` that neither its body nor its other bindings read."""
    bindings = next((c for c in let.children if c.type == "binding_set"), None)
    body = let.child_by_field_name("body")
    if bindings is None or body is None:
        return
    for binding in bindings.named_children:
        elsewhere = used_names(body).union(
            *(used_names(other) for other in bindings.named_children if other != binding)
        )
        if binding.type == "binding":
            path = binding.child_by_field_name("attrpath")
            names = [text(path).split(".")[0]]
        elif binding.type in ("inherit", "inherit_from"):
            attrs = binding.child_by_field_name("attrs")
            names = [text(i) for i in attrs.named_children] if attrs else []
        else:
            continue
        for name in names:
            if name not in elsewhere:
                yield binding.start_point[0], f"nothing reads `{name}`"


def unused_arguments(function: Node) -> Iterator[Finding]:
    """Named arguments that the body does not read; a leading `_` says it is meant."""
    body = function.child_by_field_name("body")
    if body is None:
        return
    read = used_names(body)
    formals = function.child_by_field_name("formals")
    # a trailing comma leaves an empty one
    listed = [c for c in formals.named_children if text(c)] if formals else []
    for formal in listed:
        read |= used_names(formal)
    for formal in listed:
        name = text(formal.child_by_field_name("name"))
        if name and name not in read and not name.startswith("_"):
            yield formal.start_point[0], f"nothing reads the argument `{name}`"
    universal = text(function.child_by_field_name("universal"))
    if universal and universal not in read and not universal.startswith("_"):
        yield function.start_point[0], f"nothing reads the argument `{universal}`"


def of_tree(root: Node) -> Iterator[Finding]:
    """What the syntax tree tells."""
    for node in walk(root):
        line = node.start_point[0]
        # no word of syntax: the parser's grammar dislikes trailing commas, and Nix itself judges
        if node.type == "with_expression":
            yield line, "`with` hides where names come from; use `inherit (...)`"
        elif node.type == "let_expression":
            yield from unused_bindings(node)
        elif node.type == "function_expression":
            yield from unused_arguments(node)
        elif node.type == "binding":
            name = text(node.child_by_field_name("attrpath"))
            if name == text(node.child_by_field_name("expression")):
                yield line, f"`{name} = {name};` is `inherit {name};`"


def of_lines(source: str) -> Iterator[Finding]:
    """What the lines tell."""
    for number, line in enumerate(source.splitlines()):
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "trailing blanks"
    if not source.endswith("\n") or source.endswith("\n\n"):
        yield len(source.splitlines()), "must end with one newline"


def findings(source: str) -> list[Finding]:
    """Line, counted from 0, and description of everything that is wrong with a Nix file."""
    root = PARSER.parse(source.encode()).root_node
    layout = [*long_lines(source, root), *calls_beside_their_name(root)]
    return [*of_lines(source), *of_tree(root), *layout]


def main(paths: list[str]) -> int:
    """Print findings as `file:line: what`; 1 when there is one."""
    found = 0
    for path in paths:
        source = Path(path).read_text()
        for line, what in sorted(findings(source)):
            sys.stdout.write(f"{path}:{line + 1}: {what}\n")
            found += 1
    sys.stdout.write(f"nix-lint: {len(paths)} files, {found} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
