"""`hive-subagent-stub-claude`: a scripted stand-in for `claude -p`."""

from __future__ import annotations

import os
import signal
import sys
import time

from hive_subagent_stub import args, checks, script, shapes, transcripts
from hive_subagent_stub.endings import Exit
from hive_subagent_stub.ids import uuid4
from hive_subagent_stub.inbox import Message
from hive_subagent_stub.loop import Loop
from hive_subagent_stub.output import Output, line
from hive_subagent_stub.play import run, tell_of_cut_tasks
from hive_subagent_stub.session import Refused, Session
from hive_subagent_stub.stub import Stub
from hive_subagent_stub.turn import Turn
from hive_subagent_stub.versions import DEFAULT, Version

_MOST_STDIN = 10 * 1024 * 1024
_PATIENCE_S = 3.0


def main() -> None:
    """Run one process; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until init the CLI dies by a signal
    try:
        rc = _run(sys.argv[1:])
    except (args.BadArguments, Refused) as refused:
        rc = _complain(str(refused), 1)
    except script.BadScript as bad:
        rc = _complain(f"stub: {bad}", 64)
    # the interpreter's own teardown costs more than all the rest of a short run
    os._exit(rc)


def _complain(text: str, rc: int) -> int:
    print(text, file=sys.stderr, flush=True)
    return rc


def _run(argv: list[str]) -> int:
    options = args.parse(argv)
    brief = checks.brief(options) if options.print else ""
    version = Version(_version(brief))
    if options.show_version:
        print(f"{version.name} (Claude Code)", flush=True)
        return 0
    checks.formats(options)
    settings = checks.settings(options, trusting=version.trusts_projects)
    checks.root(options, settings)
    mcp_config = checks.mcp_config(options)
    out = Output()
    out.muted = options.output_format != "stream-json"
    loop = Loop(out)
    miss: transcripts.ResumeMiss | None = None
    try:
        session = Session.open(options, version)
    except transcripts.ResumeMiss as missed:
        miss, session = missed, Session(missed.session_id or uuid4(), "", cwd="", version=version)
    stub = Stub(options, version=version, session=session, out=out, loop=loop, settings=settings)
    if miss is not None:
        out.emit(shapes.miss(stub, miss.text, session.id))
        loop.drain()
        return _complain(miss.text, 1)
    stub.brief = brief
    if version.freezes_brief and session.brief is not None:
        stub.brief = session.brief  # measured: another text is ignored, silently
    stub.mcp_config = mcp_config
    return _live(stub)


def _version(brief: str) -> str:
    """The version to behave as: environment, else the script that is known so early."""
    if name := os.environ.get("HIVE_SUBAGENT_STUB_VERSION"):
        return name
    chosen = script.choose("", brief)  # that of a prompt counts from the first turn on
    return (chosen.version if chosen else None) or DEFAULT


def _live(stub: Stub) -> int:
    try:
        _at_start(stub)
        if stub.options.input_format == "stream-json":
            _begin(stub)
            _converse(stub)
        else:
            prompt = _prompt(stub)
            if not prompt.strip():
                return 0  # measured: nothing printed, nothing saved
            _begin(stub)
            run(stub, Message(prompt))
            _background(stub)
        rc = 1 if stub.last_failed else 0
        _print_plain(stub)
        _linger(stub)
        _tidy(stub)
        stub.hooks.session_end()
    except Exit as leaving:
        rc = leaving.rc
        _say_goodbye(stub, rc)
        if rc == 143 and stub.out.waiting and stub.version.drains_at_exit:
            rc = 0  # measured: the whole output is delivered first
    for server in stub.servers.values():
        server.transport.close()
    stub.session.end()
    stub.out.flush()
    if stub.version.drains_at_exit:
        stub.loop.drain()
    return rc


def _at_start(stub: Stub) -> None:
    """Steps before anything is read, from the brief or the environment's file."""
    chosen = script.choose("", stub.brief)
    if chosen is not None and chosen.at_start:
        from hive_subagent_stub.steps import perform

        for step in chosen.at_start:
            perform(stub, Turn(stub, None), step)


def _say_goodbye(stub: Stub, rc: int) -> None:
    if rc in (0, 1, 143) and stub.results + (stub.turn is not None):
        try:
            stub.hooks.session_end()
        except Exit:
            return


def _begin(stub: Stub) -> None:
    stub.listen()
    stub.session.show_alive()
    # from here on: a message can come while the servers are being connected
    stub.loop.on_line = stub.inbox.line
    if stub.mcp_config:
        from hive_subagent_stub.mcp import connect_all

        connect_all(stub)


def _converse(stub: Stub) -> None:
    """Turns as messages come, until stdin ends and nothing is left to do."""
    stub.wait(time.monotonic())
    waited = False
    while True:
        message = stub.inbox.next_turn(waited=waited)
        if message is not None:
            if stub.session.cut_tasks and not stub.version.old:
                tell_of_cut_tasks(stub)
            run(stub, message)
            waited = True
        elif stub.tasks is not None and stub.tasks.ready:
            stub.tasks.play_agent()
        elif stub.tasks is not None and (stub.tasks.events or stub.tasks.ended):
            run(stub, None, stub.tasks.origin())
        elif stub.loop.eof:
            if not _background(stub):
                return
        else:
            stub.step(None)
            waited = False


def _background(stub: Stub) -> bool:
    """Hold the exit for running tasks; their end opens a turn. True if one was run."""
    tasks = stub.tasks
    if tasks is None:
        return False
    grace = stub.background_grace_s
    if grace is None:
        grace = stub.version.background_grace_s
    if stub.last_failed:
        grace = 0.0
    until = time.monotonic() + grace
    while tasks.running and not (tasks.ended or tasks.events) and time.monotonic() < until:
        if tasks.ready:
            tasks.play_agent()
        else:
            stub.step(until)
    if not tasks.ended and not tasks.events:
        killed = tasks.kill_all()
        if not killed or stub.last_failed or not stub.version.kill_opens_turn:
            return False
        tasks.ended += killed
    run(stub, None, tasks.origin())
    if stub.options.input_format == "text":
        return _background(stub)
    return True


def _linger(stub: Stub) -> None:
    if stub.linger_s is not None:
        forever = stub.linger_s == float("inf")
        stub.wait(None if forever else time.monotonic() + stub.linger_s)


def _print_plain(stub: Stub) -> None:
    if stub.options.output_format == "json":
        stub.out.write(line(stub.last_result))
    elif stub.options.output_format == "text":
        stub.out.write(stub.last_text.encode("utf-8", "replace") + b"\n")


def _tidy(stub: Stub) -> None:
    """The clean-up of old transcripts, which the CLI does some time after its start."""
    days = stub.settings.get("cleanupPeriodDays", 30)
    if isinstance(days, int) and days < 3650:
        home = transcripts.config_dir(os.environ)
        transcripts.clean_up(os.path.join(home, "projects"), days, time.time())


def _prompt(stub: Stub) -> str:
    """Text mode: the argument and all of stdin."""
    options, loop = stub.options, stub.loop
    chunks: list[bytes] = []
    if not os.isatty(0):
        chunks = _read_all(stub)
        if sum(map(len, chunks)) > _MOST_STDIN:
            raise Refused("Error: piped stdin input exceeds 10MB. Pass a file path instead.")
    loop.reading = False
    piped = b"".join(chunks).decode("utf-8", "replace")
    if options.prompt and piped:
        return f"{options.prompt}\n{piped}"
    if not options.prompt and not piped:
        raise Refused(
            "Error: Input must be provided either through stdin or as a prompt argument "
            "when using --print"
        )
    return options.prompt or piped


def _read_all(stub: Stub) -> list[bytes]:
    """Stdin to its end; given up after 3 s only if not a byte has come."""
    import select

    poll = select.poll()
    poll.register(0, select.POLLIN)
    if not poll.poll(_PATIENCE_S * 1000):
        if not stub.options.prompt:
            print(
                "Warning: no stdin data received in 3s, proceeding without it.",
                file=sys.stderr,
                flush=True,
            )
        return []
    chunks = []
    while chunk := os.read(0, 1 << 20):
        chunks.append(chunk)
    return chunks
