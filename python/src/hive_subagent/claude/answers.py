"""What the main agent says, kept as it came and read only where an answer is to be told.

Most lines of a stream are such lines, and parsing costs ten times as much as reading them. A result
line holds the last text block alone, and nothing where the last message is empty; the whole stands
in the lines before it (measured with 2.1.197 and 2.1.332).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hive_subagent.claude import protocol
from hive_subagent.claude.stream import BORDER

MOST_LINES = 256
"""Lines that are kept: those of the final message, and what was said before it."""

MOST_BYTES = 16 * 1024 * 1024
"""Bytes that these lines hold together; the last is kept whatever its size."""

MOST_ANSWERS = 500
"""Answers of one turn that are kept: the last ones. A watch that fires all day gives many."""

MOST_ANSWER_BYTES = 128 * 1024 * 1024
"""Characters that these answers hold together; the last is kept whatever its size."""


@dataclass(frozen=True)
class Answer:
    """One answer of a turn.

    `beside_tool`: the turn ended without a word, and this is the last that it had said before.
    """

    text: str
    beside_tool: bool = False


@dataclass
class _Said:
    """One message of the model; `after_border`: it was told something right before it."""

    id: object
    texts: list[str] = field(default_factory=list)
    used_tool: bool = False
    after_border: bool = False

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


class Spoken:
    """The last lines of the main agent, and the answers made of them."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self._lines: deque[bytes] = deque(maxlen=MOST_LINES)
        self._before = ""

    def keep(self, lines: Iterable[bytes]) -> None:
        """Keep lines of the main agent, which may be the end of its turn."""
        self._lines.extend(lines)
        size = sum(map(len, self._lines))
        while size > MOST_BYTES and len(self._lines) > 1:
            size -= len(self._lines.popleft())

    def answer(self, result: str) -> None:
        """Note that the turn ended with `result`, what claude itself gives as its answer."""
        self.answers.append(self._answer(result))
        self._lines.clear()
        size = sum(len(answer.text) for answer in self.answers)
        while len(self.answers) > 1 and (
            size > MOST_ANSWER_BYTES or len(self.answers) > MOST_ANSWERS
        ):
            size -= len(self.answers.pop(0).text)

    def begin_turn(self) -> None:
        """From here on another turn is answered."""
        self._before = self.answers[-1].text if self.answers else ""
        self.answers.clear()

    @property
    def last_text(self) -> str:
        """The last text that the main agent said and that is no answer of this turn.

        Where it said nothing in this turn yet, the answer of the turn before; else empty.
        """
        before = "" if self.answers else self._before
        return next((said.text for said in self._messages() if said.texts), before)

    def _answer(self, result: str) -> Answer:
        final: list[_Said] = []
        for said in self._messages():
            if said.used_tool or (final and final[-1].after_border):
                break
            final.append(said)
        texts = [text for said in final for text in reversed(said.texts)]
        if texts and (not result.strip() or result.strip() == texts[0].strip()):
            # the parts of one that was cut at the limit of its length belong together as they are
            return Answer("".join(said.text for said in reversed(final)))
        if result.strip():
            # made of something else, such as a command's output
            return Answer(result)
        before = self.last_text
        return Answer(before, beside_tool=bool(before))

    def _messages(self) -> Iterator[_Said]:
        """The messages in the kept lines, the last first."""
        said: _Said | None = None
        for line in reversed(self._lines):
            if line is BORDER:
                if said is not None:
                    said.after_border = True
                continue
            event = protocol.parse(line) or {}
            message = event.get("message")
            # claude speaks in the model's place where the API fails
            if not isinstance(message, dict) or message.get("model") == "<synthetic>":
                continue
            if said is None or message.get("id") != said.id:
                if said is not None:
                    yield said
                said = _Said(message.get("id"))
            content = message.get("content")
            self._add(said, content if isinstance(content, list) else [])
        if said is not None:
            yield said

    def _add(self, said: _Said, content: list[Any]) -> None:
        blocks = [block for block in content if isinstance(block, dict)]
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        said.texts[:0] = [text for text in texts if isinstance(text, str) and text.strip()]
        said.used_tool |= any(block.get("type") == "tool_use" for block in blocks)
