"""What the stand-in model does: a directive in the prompt, in the brief or in a file."""

from __future__ import annotations

import json
import os

from hive_subagent_stub._types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hive_subagent_stub._types import Json, Step

_MARK = "[[STUB "
_MARK64 = "[[STUB64 "


class BadScript(Exception):
    """The script cannot be followed; the message is one line that names the culprit."""


class Script:
    """One parsed script."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise BadScript(f"script in {where}: must be one JSON object")
        self.value: Json = value
        self.where = where
        self.version: str | None = value.get("version")
        self.at_start: list[Step] = self._steps("at_start", value.get("at_start", []))
        self.before_init: list[Step] = self._steps("before_init", value.get("before_init", []))
        after = value.get("after_background", [{"text": "done"}])
        each = after if after and isinstance(after[0], list) else [after]
        self.after_background = [self._steps("after_background", steps) for steps in each]
        turns = value.get("turns", [value.get("steps", [])])
        if not isinstance(turns, list) or not turns:
            raise BadScript(f"script in {where}: turns must be a list of lists of steps")
        self.turns = [self._steps("turns", turn) for turn in turns]

    def _steps(self, key: str, value: object) -> list[Step]:
        if not isinstance(value, list) or not all(isinstance(step, dict) for step in value):
            raise BadScript(f"script in {self.where}: {key} must be a list of objects")
        return value

    def told(self, index: int) -> list[Step]:
        """The steps of a turn that background work opens; past the end the last ones again."""
        return self.after_background[min(index, len(self.after_background) - 1)]

    def turn(self, index: int) -> list[Step]:
        """The steps of the turn with this index; past the end the last ones again."""
        return self.turns[min(index, len(self.turns) - 1)]


def find(text: str, where: str) -> Script | None:
    """The last directive in a text, if there is one."""
    found = None
    for value in _directives(text, where):
        found = value
    return None if found is None else Script(found, where)


def _directives(text: str, where: str) -> Iterator[object]:
    at = text.find("[[STUB")
    while at >= 0:
        start = at
        at = text.find("[[STUB", at + 1)
        if text.startswith(_MARK64, start):
            import base64

            coded = text[start + len(_MARK64) :].split("]]", 1)[0]
            try:
                yield json.loads(base64.b64decode(coded))
            except ValueError as error:
                raise BadScript(f"script in {where}: [[STUB64 is not JSON: {error}") from None
        elif text.startswith(_MARK, start):
            try:
                value, end = json.JSONDecoder().raw_decode(text, _skip(text, start + len(_MARK)))
            except ValueError as error:
                raise BadScript(f"script in {where}: not JSON: {error}") from None
            if not text.startswith("]]", _skip(text, end)):
                raise BadScript(f"script in {where}: no ]] after the JSON")
            yield value
            # a script may hold another one, say as the prompt of an inner agent
            at = text.find("[[STUB", end)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def choose(message: str, brief: str) -> Script | None:
    """The script that holds: newest user message, else the brief, else the file of the env."""
    script = find(message, "the prompt") or find(brief, "the brief")
    return script or from_environment()


def from_environment() -> Script | None:
    """The script of HIVE_SUBAGENT_STUB_SCRIPT, a file that holds the JSON alone."""
    path = os.environ.get("HIVE_SUBAGENT_STUB_SCRIPT")
    if not path:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return Script(json.load(file), path)
    except (OSError, ValueError) as error:
        raise BadScript(f"script in {path}: {error}") from None
