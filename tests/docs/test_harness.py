"""The tests of the pages can fail: outputs that differ and commands that fail are noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.pages import Block, Interrupt, matches, steps
from docs.reader import Reader
from docs.terminal import play, stays, terminals

PAGE = """\
**Terminal 1**

```sh
greeting=hello
```

Text.

**Terminal 1**

```sh
echo "$greeting"
```

```text
hello
```

<!-- not run: it needs
     a network -->

```sh
false
```

**Terminal 2**: press Ctrl-C.
"""


@pytest.fixture
def page(tmp_path: Path) -> str:
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    return str(file)


def test_a_page_is_read_as_its_reader_reads_it(page: str) -> None:
    first, second, third, last = steps(page)
    assert isinstance(second, Block)
    assert (second.terminal, second.line, second.expected) == ("1", 11, "hello\n")
    assert isinstance(third, Block)
    assert (third.terminal, third.not_run) == ("", "it needs a network")
    assert isinstance(first, Block)
    assert first.expected is None
    assert last == Interrupt("2")


@pytest.mark.parametrize(
    ("expected", "output", "is_same"),
    [
        ("a … d", "a b\nc d", True),
        ("open for 2 s", "open for 17.5 s ", True),
        ("process 22274", "process 7", True),
        ("turn 3 of 5", "turn 2 of 5", False),
        ("…\nhello\n…", "hello", True),
        ("…\nhello\n…", "first\nhello\nlast", True),
        ("…\nhello\n…", "first hello", False),
        ("hello", "hello there", False),
        ("a.c", "abc", False),
    ],
)
def test_an_output_is_compared_with_the_one_shown(
    expected: str, output: str, is_same: bool
) -> None:
    assert matches(expected, output) == is_same


def test_a_command_that_fails_and_an_output_that_differs_fail_the_test(tmp_path: Path) -> None:
    reader = Reader.below(tmp_path)
    fails = Block("page.md", 3, "sh", "cd /\nfalse\necho never said\n")
    differs = Block("page.md", 9, "sh", "echo good day\n", expected="hello\n")
    for block, says in ((fails, "a command failed"), (differs, r"page.md:9 shows\s+hello")):
        with (
            terminals(tmp_path / "typed", reader.home, reader.environment) as terminal,
            pytest.raises(AssertionError, match=says),
        ):
            play([block], terminal, str)


def test_a_program_that_serves_is_known_by_its_last_line() -> None:
    def of(text: str) -> bool:
        return stays(Block("page.md", 1, "sh", text))

    assert of("cd x\nIS_SANDBOX=1 hive-subagent-daemon --config c.json\n")
    assert of('tail -n +1 -F "$channel/output.txt"\n')
    assert not of("hive-subagent-daemon --config c.json &\necho started\n")
