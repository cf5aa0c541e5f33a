"""What is drawn: the tree of `ps`, notices and checks. Everything is text; nothing of a subagent's
words acts on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hive_subagent.cli.endings import in_words, lives
from hive_subagent.system.sanitize import on_one_line

if TYPE_CHECKING:
    from rich.table import Table

Session = Mapping[str, Any]

SAID = 60
"""Characters of what a session does or says that one line shows."""

_COLOURS = {
    "need_help": "bold yellow",
    "failed": "red",
    "killed": "red",
    "running": "green",
    "starting": "green",
    "queued": "dim",
}


def age(seconds: float | None) -> str:
    """A time as people read it: `7s`, `3m12s`, `2h05m`; empty where it is not known."""
    if seconds is None:
        return ""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def cost(session: Session) -> str:
    """What its run has cost, in dollars."""
    dollars = session.get("cost_usd")
    return f"${dollars:.2f}" if isinstance(dollars, int | float) else ""


def doing(session: Session) -> str:
    """What a session does, waits for or asks, on one line."""
    if session.get("state") == "need_help":
        return _short(session.get("message"))
    parts: list[str] = []
    tool = session.get("open_tool")
    if isinstance(tool, Mapping):
        parts.append(f"{tool.get('name')} {age(tool.get('age_s'))} {tool.get('input') or ''}")
    background = session.get("background")
    if isinstance(background, list) and background:
        parts.append(f"{len(background)} in the background")
    if parts:
        return _short(", ".join(parts))
    return "" if lives(session) else _short(session.get("message") or session.get("result"))


def _short(text: object) -> str:
    line = on_one_line(" ".join(str(text or "").split()))
    return line if len(line) <= SAID else line[: SAID - 1] + "…"


def in_order(sessions: Iterable[Session]) -> list[Session]:
    """Those that need somebody first, then those that run, then the others as they came."""
    return sorted(sessions, key=lambda one: (one.get("state") != "need_help", not lives(one)))


def rows(sessions: Iterable[Session]) -> list[tuple[str, str, str, str, str]]:
    """Name, state, age, cost and doing of each; children are indented below their delegation."""
    groups: dict[str, list[Session]] = {}
    alone: list[Session] = []
    for session in in_order(sessions):
        if delegation := session.get("delegation"):
            groups.setdefault(str(delegation), []).append(session)
        else:
            alone.append(session)
    found = [_row(session, "") for session in alone if session.get("state") == "need_help"]
    for delegation, children in groups.items():
        over = sum(not lives(child) for child in children)
        found.append((delegation, f"{over} of {len(children)} over", "", "", ""))
        found += [_row(child, "└─ " if child is children[-1] else "├─ ") for child in children]
    found += [_row(session, "") for session in alone if session.get("state") != "need_help"]
    return found


def _row(session: Session, branch: str) -> tuple[str, str, str, str, str]:
    name = branch + on_one_line(str(session.get("name")))
    return name, in_words(session), age(session.get("age_s")), cost(session), doing(session)


HEADS = ("NAME", "STATE", "AGE", "COST", "DOING")


def table(sessions: Sequence[Session]) -> Table:
    """The tree of `ps`, to be printed by rich."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*HEADS, box=None, pad_edge=False, header_style="bold")
    for row in rows(sessions):
        state = row[1].split(" ")[0]
        colour = _COLOURS.get("need_help" if row[1] == "need help" else state, "")
        drawn.add_row(Text(row[0]), Text(row[1], style=colour), *(Text(cell) for cell in row[2:]))
    return drawn


def plain(sessions: Sequence[Session]) -> str:
    """The same as columns of text, for pipes."""
    lines = [HEADS, *rows(sessions)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def notice(given: Mapping[str, Any]) -> str:
    """A notice on one line."""
    what = " ".join(str(given.get(key) or "") for key in ("at", "kind", "name"))
    text = on_one_line(" ".join(str(given.get("text") or "").split()))
    return f"{what}: {text}"


def check(given: Mapping[str, Any]) -> str:
    """One check of `doctor`, with what to do where it is not well."""
    mark = {True: "ok  ", False: "FAIL"}.get(given.get("ok"), "??  ")  # type: ignore[arg-type]
    lines = [f"{mark} {given.get('check')}: {on_one_line(str(given.get('detail') or ''))}"]
    if not given.get("ok") and given.get("fix"):
        lines.append(f"     {on_one_line(str(given['fix']))}")
    return "\n".join(lines)
