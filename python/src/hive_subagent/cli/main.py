"""hive-subagent: look at the subagents of a running daemon, and act on them.

Exit codes: 0 done, 1 refused or no daemon, 2 usage; of `run` and `wait` also 10 need_help,
11 turn_cap, 12 stopped, 13 killed, 14 failed, 15 lost, 16 budget.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_subagent.cli.client import CallFailed, Client, Refused, find_socket, in_path

app = typer.Typer(
    help="Look at the subagents of a running hive-subagent-daemon, and act on them.",
    epilog="Example: hive-subagent run --dir ~/src 'Find the flaky test' && echo found",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print the daemon's answer as JSON.")]


def _version(wanted: bool) -> None:
    if wanted:
        from hive_subagent import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    socket: Annotated[
        Path | None,
        typer.Option(help="The daemon's operator socket, if it is not at a usual place."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What goes before a command."""
    context.obj = socket


def client_of(context: typer.Context) -> Client:
    """A client of the daemon that the options and the environment name. Raises CallFailed."""
    return Client(find_socket(context.obj, os.environ))


def names_known(context: typer.Context, incomplete: str) -> list[str]:
    """The names that begin so, for a shell's completion; none where no daemon answers."""
    try:
        found = Client(find_socket(context.find_root().obj, os.environ)).get("/sessions")
    except CallFailed:
        return []
    return [one["name"] for one in found["sessions"] if one["name"].startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        help="A subagent's name, or the beginning of it where no other begins so.",
        autocompletion=names_known,
    ),
]


def whole_name(client: Client, given: str) -> str:
    """The name that `given` is, or is the only one to begin so.

    Raises Refused where several begin so. A name that nothing is known of is left as it is, for
    the daemon to refuse.
    """
    found = client.get("/sessions")["sessions"]
    known = dict.fromkeys(
        str(name) for one in found for name in (one["name"], one.get("delegation")) if name
    )
    if given in known:
        return given
    fitting = [name for name in known if name.startswith(given)]
    if len(fitting) > 1:
        raise Refused(f"`{given}` can be {', '.join(sorted(fitting))}: write more of it")
    return fitting[0] if fitting else given


def route_of(client: Client, given: str) -> tuple[str, str]:
    """The whole name, and the route of its session."""
    name = whole_name(client, given)
    return name, f"/sessions/{in_path(name)}"


def answer(reply: dict[str, Any], *, as_json: bool) -> None:
    """Print the daemon's text for people, or all of its answer."""
    if as_json:
        print_json(reply)
    else:
        print(reply.get("text", ""))


def print_json(reply: Any) -> None:
    """One JSON document on stdout, in ASCII: nothing in it acts on a terminal."""
    print(json.dumps(reply, indent=2))


def main() -> int:
    """The command line. Returns the exit code."""
    from hive_subagent.cli import acting, looking

    acting.add_to(app)
    looking.add_to(app)
    try:
        code = app(standalone_mode=False)
    except CallFailed as error:
        print(f"hive-subagent: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # the reader of a pipe has seen enough; Python must not complain of it at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        if (shown := getattr(error, "show", None)) is None:
            raise
        shown()  # a mistake in the command line
        return int(getattr(error, "exit_code", 2))
    return int(code or 0)
