"""The commands that look: `ps`, `show`, `logs`, `notices`, `doctor`."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from hive_subagent.cli import show
from hive_subagent.cli.client import Client, Refused
from hive_subagent.cli.endings import lives
from hive_subagent.cli.main import Json, Name, answer, client_of, print_json, route_of

LOOK_S = 1.0
"""Seconds between two looks of a command that follows."""

PART = 256 * 1024
"""Bytes of output that are asked for at once."""


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(ps)
    app.command(name="show")(show_one)
    app.command()(logs)
    app.command()(notices)
    app.command()(doctor)


def ps(
    context: typer.Context,
    all: Annotated[bool, typer.Option("-a", "--all", help="Also those that have ended.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Draw anew every second.")] = False,
    as_json: Json = False,
) -> None:
    """List subagents as a tree: those that need you first.

    Example: hive-subagent ps -a --json | jq '.sessions[].name'
    """
    client = client_of(context)
    if as_json:
        print_json(_sessions(client, everything=all))
    elif not watch:
        _print(_sessions(client, everything=all))
    else:
        _watch(client, everything=all)


def _sessions(client: Client, *, everything: bool) -> dict[str, Any]:
    found = client.get("/sessions")
    if not everything:
        needed = [one for one in found["sessions"] if lives(one) or one.get("state") == "need_help"]
        found = {**found, "sessions": needed}
    return found


def _print(found: dict[str, Any]) -> None:
    if not sys.stdout.isatty():
        print(show.plain(found["sessions"]))
        return
    from rich.console import Console

    Console().print(show.table(found["sessions"]))


def _watch(client: Client, *, everything: bool) -> None:
    from rich.live import Live

    with Live(auto_refresh=False, screen=sys.stdout.isatty()) as live:
        while True:
            sessions = _sessions(client, everything=everything)["sessions"]
            live.update(show.table(sessions), refresh=True)
            time.sleep(LOOK_S)


def show_one(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """Say how a subagent is doing, or how it ended and what it answered."""
    client = client_of(context)
    _, route = route_of(client, name)
    answer(client.get(route), as_json=as_json)


def logs(
    context: typer.Context,
    name: Name,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on until the run ends.")
    ] = False,
    number: Annotated[
        int | None, typer.Option("-n", min=0, help="The last lines only; without: all there are.")
    ] = None,
) -> None:
    """Print what a subagent says and does, a line each.

    Example: hive-subagent logs -f -n 20 lint
    """
    client = client_of(context)
    _, route = route_of(client, name)
    part = client.get(f"{route}/output", offset=0 if number is None else -PART, limit=PART)
    if number is not None:
        lines = part["output"].splitlines(keepends=True)
        part["output"] = "".join(lines[len(lines) - min(number, len(lines)) :])
    while True:
        print(part["output"], end="", flush=True)
        # without output: of a last character a part is missing yet
        if part["next_offset"] >= part["size"] or not part["output"]:
            if not follow or not lives(client.get(route)):
                break
            time.sleep(LOOK_S)
        part = client.get(f"{route}/output", offset=part["next_offset"], limit=PART)
    if follow:
        # what came between the last look and the end
        rest = client.get(f"{route}/output", offset=part["next_offset"], limit=PART)
        print(rest["output"], end="", flush=True)


def notices(
    context: typer.Context,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Wait for further ones.")] = False,
    as_json: Json = False,
) -> None:
    """List the notices that are owed, and the last ones that were delivered."""
    client = client_of(context)
    seen: set[tuple[str, str]] = set()
    while True:
        found = client.get("/notices")
        if as_json and not follow:
            print_json(found)
            return
        # oldest first; of an owed one the text may not be readable now
        delivered = [("delivered", one) for one in reversed(found["delivered"])]
        owed = [("owed", one["notice"] or one) for one in found["owed"]]
        for state, one in delivered + owed:
            if (state, one["id"]) not in seen:
                seen.add((state, one["id"]))
                print(f"{state:9} {show.notice(one)}", flush=True)
        if not follow:
            return
        time.sleep(LOOK_S)


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check what the daemon needs, and say what to do where something is not well."""
    found = client_of(context).get("/doctor")
    if as_json:
        print_json(found)
    else:
        for one in found["checks"]:
            print(show.check(one))
    wrong = [one["check"] for one in found["checks"] if not one["ok"]]
    if wrong:
        raise Refused(f"not well: {', '.join(wrong)}")
