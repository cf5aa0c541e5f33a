"""The stream of one run: what claude printed in one go, parsed once, for everybody who follows.

Most lines of a long stream are what the model says, and begin so. Of those only the ones that open
a tool say anything about the run. Parsing a line costs ten times as much as looking for that, so a
line is parsed where its meaning is asked for, and of what the model says the text alone is read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hive_subagent.claude import protocol

log = logging.getLogger(__name__)

Event = Mapping[str, Any]

BORDER = b""
"""In place of a line that the main agent did not say."""

_MODEL = b'{"type":"assistant"'
_USER = b'{"type":"user"'
# raw, as keys and values: within a text their quotation marks are escaped
_TOOL = b'"tool_use"'
_RESULT = b'"type":"result"'
_OF_AGENT = b'"parent_tool_use_id":"'
# a message that ran into the limit of its length is continued in another (2.1.332 says so)
_CUT_SHORT = b'"text":"Output token limit hit.'
_HEAD = 200


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: list[_Part]


class _Said(msgspec.Struct, gc=False):
    message: _Message


# what is not named here is passed over, which takes a third of the time of making objects of it
_DECODER = msgspec.json.Decoder(_Said)


class Batch:
    """Whole lines that came together, without their line ends; at least one."""

    def __init__(self, lines: Sequence[bytes], data: bytes) -> None:
        """`data`: what the lines were cut from, but for what came before of the first."""
        self.lines = lines
        self._data = data
        self._events: dict[int, Event | None] = {}
        self._others = [n for n, line in enumerate(lines) if not line.startswith(_MODEL)]
        # one search of the whole is a third of a search in each line
        self._has_tool = self._holds(_TOOL)
        self._has_agent = self._holds(_OF_AGENT)

    @property
    def size(self) -> int:
        """Bytes, but for what came before of the first line."""
        return len(self._data)

    def _holds(self, piece: bytes) -> bool:
        """Whether one of the lines may hold it."""
        return piece in self._data or piece in self.lines[0]

    def event(self, index: int) -> Event | None:
        """The event on a line; None where there is none. Raises Excess."""
        if index not in self._events:
            line = self.lines[index]
            self._events[index] = protocol.parse(line) if line else None
        return self._events[index]

    @property
    def telling(self) -> Sequence[int]:
        """Which lines have to be parsed for what they say of the run, in order."""
        if not self._has_tool:
            return self._others
        return [
            index
            for index, line in enumerate(self.lines)
            if not line.startswith(_MODEL) or _TOOL in line
        ]

    @property
    def has_result(self) -> bool:
        """Whether one of the lines may be a result, so that their order matters."""
        return bool(self._others) and self._holds(_RESULT)

    @property
    def spoken(self) -> Sequence[bytes]:
        """The lines that the main agent said, in order; its subagents' are left out.

        `BORDER` stands where it was told something in between: a tool's result, a hook's feedback.
        """
        if not self._others and not self._has_agent:
            return self.lines
        return [
            line if line.startswith(_MODEL) else BORDER
            for line in self.lines
            if line.startswith((_MODEL, _USER)) and _OF_AGENT not in line and not _goes_on(line)
        ]

    @property
    def texts(self) -> list[str] | None:
        """What the main agent said, where it did nothing else; None where the events matter."""
        if self._others or self._has_tool or self._has_agent:
            return None
        try:
            said = [_DECODER.decode(line) for line in self.lines]
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        parts = [part for line in said for part in line.message.content]
        return [part.text for part in parts if part.type == "text" and part.text is not None]

    def events(self) -> Iterator[Event]:
        """What the model says and is given, and all else that was parsed, in order."""
        for index, line in enumerate(self.lines):
            if index in self._events or line.startswith((_MODEL, _USER)):
                event = self.event(index)
                if event is not None:
                    yield event

    def each(self) -> Iterable[Batch]:
        """Each line as a batch of its own."""
        return (Batch((line,), line) for line in self.lines)


def _goes_on(line: bytes) -> bool:
    return line.startswith(_USER) and _CUT_SHORT in line[:_HEAD]


Follower = Callable[[Batch], None]


class Stream:
    """Hands each batch to all who follow, in the order in which they came.

    One that fails is logged and gets no more: it costs the run nothing.
    """

    def __init__(self) -> None:
        self._followers: list[Follower] = []

    def follow(self, follower: Follower) -> None:
        """Give it every batch from now on. It has to return at once."""
        self._followers.append(follower)

    def publish(self, batch: Batch) -> None:
        """Never raises."""
        for follower in self._followers:
            try:
                follower(batch)
            except Exception:
                log.exception("%r fails, and follows no more", follower)
                self._followers = [other for other in self._followers if other is not follower]
