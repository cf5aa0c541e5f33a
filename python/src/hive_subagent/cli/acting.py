"""The commands that act: `run`, `start`, `continue`, `wait`, `interrupt`, `stop`, `redirect`,
`info`, `delegate`."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_subagent.cli import endings
from hive_subagent.cli.client import Refused
from hive_subagent.cli.following import DAY_S, INTERRUPT_S, follow, wait_for
from hive_subagent.cli.main import Json, Name, answer, client_of, print_json, route_of, whole_name
from hive_subagent.system.sanitize import on_lines

Prompt = Annotated[str, typer.Argument(help="What to do; `-` reads it from stdin.")]
Dir = Annotated[
    Path | None, typer.Option(help="Directory to work in.", show_default="where you are")
]
Model = Annotated[str | None, typer.Option(help="Claude's model.")]
Goal = Annotated[
    str | None,
    typer.Option(help="Go on over turns until the subagent itself reports this reached."),
]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="The most turns, with a goal.")]
ReportFile = Annotated[Path | None, typer.Option(help="File to append each ending to.")]
MemoryMax = Annotated[str | None, typer.Option(help="Limit for the run, bytes or 512M style.")]
TurnTimeout = Annotated[
    float | None, typer.Option("--turn-timeout", help="The longest turn, in seconds.")
]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(run)
    app.command()(start)
    app.command(name="continue")(continue_)
    app.command()(wait)
    app.command()(interrupt)
    for kind, about in (
        ("stop", "Ask a running subagent to stop after its present step; the work is kept."),
        ("redirect", "Give a running subagent an instruction that overrides its plan."),
        ("info", "Tell a running subagent something in passing."),
    ):
        app.command(name=kind, help=about)(_intervention(kind))
    app.command()(delegate)
    app.command()(mcp)


def mcp(context: typer.Context) -> None:
    """Serve MCP on stdin and stdout: `claude mcp add subagent -- hive-subagent mcp`."""
    from hive_subagent.cli import bridge

    bridge.main(context.obj)


def _launch(
    dir: Path | None,
    model: str | None,
    goal: str | None,
    max_turns: int | None,
    report_file: Path | None,
    memory_max: str | None,
    turn_timeout: float | None,
) -> dict[str, Any]:
    return {
        "dir": str(dir.absolute()) if dir is not None else None,
        "model": model,
        "goal": goal,
        "max_turns": max_turns,
        "report_file": str(report_file.absolute()) if report_file is not None else None,
        "memory_max": memory_max,
        "turn_timeout_s": turn_timeout,
    }


def run(
    context: typer.Context,
    prompt: Prompt,
    name: Annotated[
        str | None, typer.Option(help="Its name.", show_default="run- and random digits")
    ] = None,
    dir: Dir = Path(),
    model: Model = None,
    goal: Goal = None,
    max_turns: MaxTurns = None,
    report_file: ReportFile = None,
    memory_max: MemoryMax = None,
    turn_timeout: TurnTimeout = None,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Say nothing of its progress.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Start a subagent, wait for its end and print its answer; for scripts, timers and CI.

    What it does goes to stderr, the answer to stdout; the exit code says how it ended. Ctrl-C or
    SIGTERM interrupts it. Example: hive-subagent run --goal 'the tests pass' --max-turns 5 'Fix
    what is broken'
    """
    client = client_of(context)
    chosen = name or f"run-{secrets.token_hex(4)}"
    given = _launch(dir, model, goal, max_turns, report_file, memory_max, turn_timeout)
    request = {"name": chosen, "prompt": _text(prompt), **given}
    session = follow(client, chosen, request, shown=not quiet)
    if as_json:
        print_json(session)
    elif session.get("result") is not None:
        result = _whole_result(session)
        # a pipe gets the answer as it is; on a terminal it must not act
        print(on_lines(result) if sys.stdout.isatty() else result)
    code = endings.exit_code(session)
    if code:
        print(f"hive-subagent: {chosen}: {endings.in_words(session)}", file=sys.stderr)
        for line in on_lines(str(session.get("message") or "")).splitlines():
            print(f"  {line}", file=sys.stderr)
    return code


def start(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="1 to 63 of a-z, 0-9 and -.")],
    prompt: Prompt,
    dir: Dir = Path(),
    model: Model = None,
    goal: Goal = None,
    max_turns: MaxTurns = None,
    report_file: ReportFile = None,
    memory_max: MemoryMax = None,
    turn_timeout: TurnTimeout = None,
    as_json: Json = False,
) -> None:
    """Start a subagent in the background. A finished one of that name is archived."""
    given = _launch(dir, model, goal, max_turns, report_file, memory_max, turn_timeout)
    request = {"name": name, "prompt": _text(prompt), **given}
    reply = client_of(context).post("/sessions", request)
    answer(reply, as_json=as_json)


def continue_(
    context: typer.Context,
    name: Name,
    prompt: Prompt,
    dir: Annotated[
        Path | None, typer.Option(help="Where it was started, if not by this daemon.")
    ] = None,
    model: Model = None,
    goal: Goal = None,
    max_turns: MaxTurns = None,
    report_file: ReportFile = None,
    memory_max: MemoryMax = None,
    turn_timeout: TurnTimeout = None,
    as_json: Json = False,
) -> None:
    """Give a session that is not running its next prompt, however its last run ended."""
    client = client_of(context)
    _, route = route_of(client, name)
    given = _launch(dir, model, goal, max_turns, report_file, memory_max, turn_timeout)
    reply = client.post(f"{route}/continue", {"prompt": _text(prompt), **given})
    answer(reply, as_json=as_json)


def wait(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Subagents or delegations; none: all that run.")
    ] = None,
    any: Annotated[bool, typer.Option("--any", help="Until the first has ended.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait.")] = DAY_S,
    as_json: Json = False,
) -> int:
    """Wait until subagents have ended; the exit code is the highest of theirs.

    Example: hive-subagent wait lint test && echo both are done
    """
    client = client_of(context)
    wanted = [whole_name(client, name) for name in names or []] or None
    reply = wait_for(client, wanted, until="any" if any else "all", timeout_s=timeout)
    answer(reply, as_json=as_json)
    if not reply["done"]:
        print(f"hive-subagent: not over after {timeout:.0f} s", file=sys.stderr)
        return endings.REFUSED
    return endings.worst(one for one in reply["sessions"] if not endings.lives(one))


def interrupt(
    context: typer.Context,
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Kill at once.")] = False,
    as_json: Json = False,
) -> None:
    """Stop a running subagent and all it started; the session can be continued."""
    client = client_of(context)
    _, route = route_of(client, name)
    reply = client.post(f"{route}/interrupt", {"force": force}, within_s=INTERRUPT_S)
    answer(reply, as_json=as_json)


def _intervention(kind: str) -> Any:
    def intervene(
        context: typer.Context,
        name: Name,
        text: Annotated[str, typer.Argument(help="Reason, instruction or information.")],
        now: Annotated[bool, typer.Option("--now", help="Cut what it does now.")] = False,
        as_json: Json = False,
    ) -> None:
        client = client_of(context)
        _, route = route_of(client, name)
        request = {"kind": kind, "text": _text(text), "now": now or None}
        reply = client.post(f"{route}/intervene", request)
        answer(reply, as_json=as_json)

    return intervene


def delegate(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="JSON or YAML with `tasks`; `-` is stdin.")],
    waits: Annotated[bool, typer.Option("--wait", help="Wait until all have ended.")] = False,
    as_json: Json = False,
) -> int:
    """Hand out several tasks at once, each to a subagent with a role.

    The file has what the tool `delegate` takes. Example: hive-subagent delegate --wait tasks.yaml
    """
    client = client_of(context)
    reply = client.post("/delegations", _tasks(file))
    answer(reply, as_json=as_json and not waits)
    if not waits:
        return 0
    ended = wait_for(client, [reply["delegation"]], until="all", timeout_s=DAY_S)
    answer(ended, as_json=as_json)
    return endings.worst(ended["sessions"])


def _tasks(file: str) -> dict[str, Any]:
    """What a file asks for. Raises Refused where it makes no sense."""
    content = _read(file)
    try:
        found = json.loads(content)
    except ValueError:
        import yaml

        try:
            found = yaml.safe_load(content)
        except yaml.YAMLError as error:
            said = " ".join(str(error).split())
            raise Refused(f"{file} is neither JSON nor YAML: {said}") from None
    if not isinstance(found, Mapping):
        raise Refused(f"{file} holds no mapping: write `tasks:` and below it a list")
    return {str(name): value for name, value in found.items()}


def _text(given: str) -> str:
    return sys.stdin.read() if given == "-" else given


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{file} cannot be read: {getattr(error, 'strerror', error)}") from None


def _whole_result(session: Mapping[str, Any]) -> str:
    """The whole answer where its file can be read, else what the session object holds of it."""
    if session.get("result_cut") and (file := session.get("result_file")):
        try:
            return Path(file).read_text()
        except (OSError, UnicodeDecodeError):
            pass
    return str(session.get("result") or "")
