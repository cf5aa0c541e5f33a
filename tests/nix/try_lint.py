"""Whether lint.py and layout.py find what they are for: each rule with a file that breaks it."""

from __future__ import annotations

import sys

from lint import findings

LONG = "x" * 90
BROKEN = {
    "{\n  long = first + second.${name} + third ++ [ " + LONG + " ];\n}\n": "can be broken",
    '{\n  long = lib.assertMsg (x == "") "' + LONG + '";\n}\n': "can be broken",
    '{\n  long = "' + LONG + '" + "' + LONG + '";\n}\n': "can be broken",
    '{\n  call = run "x"\n    { }\n    "y";\n}\n': "a line of its own",
    "{\n  call = run {\n    a = 1;\n  } {\n    b = 1;\n  };\n}\n": "a line of its own",
    "{\n  a = with x; y;\n}\n": "`with`",
    "let\n  a = 1;\nin\n2\n": "nothing reads `a`",
    "{ a, b }:\na\n": "nothing reads the argument `b`",
    "{\n  a = a;\n}\n": "`inherit a;`",
    "{\n\ta = 1;\n}\n": "a tab",
    "{ } \n": "trailing blanks",
    "{ }\n\n": "one newline",
}
FINE = (
    '{\n  message = "' + LONG + '${x} and on";\n  "' + LONG + '".source = "${x}";\n}\n',
    '[\n  "' + LONG + " and so on" + '"\n]\n',
    "{\n  # " + LONG + LONG + "\n  text = ''\n    " + LONG + LONG + "\n  '';\n}\n",
    "{\n  call = run a { b = 1; } ''\n    text\n  '';\n}\n",
    "{\n  call = lib.filterAttrs (\n    _: x: x\n  ) all;\n}\n",
    '{\n  call =\n    run "x"\n      {\n        a = 1;\n      }\n      "y";\n}\n',
)


def main() -> int:
    """1 when a rule misses its example, or finds something where nothing is wrong."""
    wrong = 0
    for source, expected in BROKEN.items():
        found = findings(source)
        if not any(expected in what for _, what in found):
            sys.stdout.write(f"nix-lint: {expected!r} is not among {found} of {source!r}\n")
            wrong += 1
    for source in FINE:
        if found := findings(source):
            sys.stdout.write(f"nix-lint: {found} of {source!r}, which is fine\n")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
