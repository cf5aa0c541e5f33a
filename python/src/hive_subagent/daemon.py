"""hive-subagent-daemon: read the settings, take the port and the locks, serve, clean up.

Exit codes: 0 after SIGTERM, SIGINT, SIGHUP or SIGQUIT once it is clean, 2 for an unusable
configuration, 3 when the port is taken.
"""

from __future__ import annotations

import argparse
import codecs
import json
import logging
import os
import resource
import signal
import sys
import time
import uuid
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio

from hive_subagent import __version__
from hive_subagent.claude.mcp_config import ConfigFiles, read_servers
from hive_subagent.containment import Containment
from hive_subagent.delegation.recovery import recover_delegation
from hive_subagent.delegation.roles import read_roles
from hive_subagent.delegation.service import DelegationService
from hive_subagent.errors import ConfigurationError, PortTaken
from hive_subagent.intervention.service import InterventionService
from hive_subagent.models.replies import Health
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.event_journal import EventJournal
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.outbox.owed_files import identities_in
from hive_subagent.outbox.sink_entries import parse_sink
from hive_subagent.server.api.doctor import Doctor
from hive_subagent.server.api.routes import Services
from hive_subagent.server.app import build_apps
from hive_subagent.server.guards import LocalNames, read_token
from hive_subagent.server.http_messages import Streams
from hive_subagent.server.http_server import HTTP_GRACE_S, HttpServer, Served
from hive_subagent.server.listening import listen
from hive_subagent.server.metrics import Figures, Metrics
from hive_subagent.server.operator_socket import NAME as OPERATOR_SOCKET
from hive_subagent.server.operator_socket import bind_operator_socket
from hive_subagent.server.owner_tools import build_agent_server
from hive_subagent.server.signal_tools import build_signal_server
from hive_subagent.sessions import idle_tracker
from hive_subagent.sessions.executor import Executor
from hive_subagent.sessions.recovery import Recovery
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.service import SessionService
from hive_subagent.sessions.store import SessionStore
from hive_subagent.settings import Settings, load
from hive_subagent.system import logs, operator_input
from hive_subagent.system.instance import (
    check_own_directory,
    lock_directory,
    make_way,
    state_identity,
)
from hive_subagent.system.private_files import private_directory, write_private
from hive_subagent.system.sanitize import on_one_line
from hive_subagent.system.sockdiag import SocketDiagnostics
from hive_subagent.system.systemd import notify, pet_watchdog, prepare

log = logging.getLogger("hive_subagent")

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)

REAPER_SILENCE_S = 30.0
"""Seconds without a pass of the child reaper after which the watchdog is not petted any more."""


_CODECS = ("idna", "utf-16", "utf-16-le")
"""What text is measured with; Python imports them at their first use, which takes a descriptor."""


def main() -> int:
    """The command line. Returns the exit code."""
    _use_utf8()
    parser = _Arguments(prog="hive-subagent-daemon", description=__doc__)
    parser.add_argument("--config", type=Path, metavar="FILE.json", help="settings as JSON")
    parser.add_argument("--host", help="listen address")
    parser.add_argument("--port", type=int, help="listen port; 0 lets the kernel choose")
    parser.add_argument("--version", action="version", version=__version__)
    arguments = parser.parse_args()
    logs.set_up()
    _raise_descriptor_limit()
    prepare()
    for codec in _CODECS:
        codecs.lookup(codec)
    try:
        settings = load(arguments.config, host=arguments.host, port=arguments.port)
        for line in operator_input.warnings(os.environ, Settings.model_fields):
            log.warning("%s", line)
        anyio.run(serve, settings)
    except (ConfigurationError, PortTaken) as error:
        logs.say(f"hive-subagent-daemon: {on_one_line(str(error))}")
        return 3 if isinstance(error, PortTaken) else 2
    return 0


def _use_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale has names of files in another encoding.

    Claude takes every name for UTF-8, and so do the callers: with another encoding a directory
    that exists would not be found.
    """
    if codecs.lookup(sys.getfilesystemencoding()).name != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _raise_descriptor_limit() -> None:
    # a run takes four descriptors, and a service is given 1024 unless it asks for more
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # one line, as for any other unusable configuration
        self.exit(2, f"{self.prog}: {message}; see --help\n")


async def serve(settings: Settings) -> None:
    """Run until a signal ends it. Order: bind, lock, sweep, deliver, serve."""
    with ExitStack() as held:
        listener = held.enter_context(listen(settings.host, settings.port))
        port = listener.port
        peers = held.enter_context(SocketDiagnostics())
        instance = str(uuid.uuid4())
        about = {"pid": os.getpid(), "instance": instance, "port": port}
        own = {"state_dir": settings.state_dir, "runtime_dir": settings.runtime}
        for key, directory in own.items():
            check_own_directory(key, directory)
        for directory in own.values():
            private_directory(directory)
        held.enter_context(lock_directory(settings.state_dir, about))
        if settings.runtime != settings.state_dir:
            held.enter_context(lock_directory(settings.runtime, about))
        make_way(settings.runtime / "daemon.json")
        operator = held.enter_context(bind_operator_socket(settings.runtime))
        if settings.todo_sinks is None:
            # our own; one that is named is its owner's business
            private_directory(settings.state_dir / "todos")

        auth_token = read_token(settings.auth_token_file, host=listener.host)
        servers = read_servers(settings.mcp_servers_file)
        roles = read_roles(settings.roles_dir)
        identity = state_identity(settings.state_dir, in_use=identities_in(settings.state_dir))
        containment = Containment.create(
            identity=identity,
            memory_max=settings.memory_max,
            claim_strays=True,
        )
        sinks = [parse_sink(entry, enclose=containment.open) for entry in settings.sinks]
        containment.start()
        try:
            for process in await containment.sweep_leftovers():
                log.warning("ended what was left over: %d %.200s", process.pid, process.command)
            records = SessionStore(settings.state_dir)
            journal = EventJournal(instance)
            figures = Figures()
            events = EventFeed(
                (sink for sink in sinks if sink.events), followers=(journal.append, figures.take)
            )
            outbox = Outbox(settings.state_dir, sinks, identity=identity, events=events)
            config_dir = settings.claude_config_dir
            others = partial(
                recover_delegation, records=records, outbox=outbox, config_dir=config_dir
            )
            recovery = Recovery(records, outbox, config_dir, others)
            await recovery.attempt()
            registry = Registry(records, max_running=settings.max_running)
            url = listener.url
            local = LocalNames(listener.host, port, settings.allowed_hosts)
            access = ConfigFiles(
                settings.runtime,
                servers,
                lambda token: f"{url}/signal/{token}/mcp",
                is_ours=local.is_address,
            )
            interventions = InterventionService(
                settings, registry.running, near=registry.near, events=events
            )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outbox.run)
                tasks.start_soon(recovery.run)
                tasks.start_soon(events.run)
                tasks.start_soon(idle_tracker.watch, lambda: registry.live)
                executor = Executor(
                    settings,
                    containment,
                    records,
                    registry,
                    outbox,
                    access,
                    tasks,
                    interventions,
                    events,
                )
                service = SessionService(executor)
                delegations = DelegationService(executor, service, roles)
                streams = Streams()
                doctor = Doctor(settings, containment, outbox)
                metrics = Metrics(figures, registry, outbox, events, journal, settings.max_running)
                apps = build_apps(
                    agent=build_agent_server(
                        service, interventions, delegations, settings.agent_name
                    ),
                    signal=build_signal_server(registry),
                    knows_token=lambda token: registry.resolve(token) is not None,
                    health=lambda: Health(
                        version=__version__,
                        instance=instance,
                        running=service.running,
                        agent=settings.agent_name,
                    ).model_copy(update=recovery.counts),
                    services=Services(
                        settings, service, interventions, delegations, outbox, journal, doctor
                    ),
                    metrics=metrics.serve,
                    auth_token=auth_token,
                    local=local,
                    streams=streams,
                )
                tasks.start_soon(
                    pet_watchdog,
                    lambda: time.monotonic() - containment.reaper_progress < REAPER_SILENCE_S,
                )
                server = HttpServer(
                    Served(apps.public, listener.socket),
                    Served(apps.operator, operator),
                    lambda: _tell_ready(settings, url, instance),
                    max_running=settings.max_running,
                    peers=peers,
                    before_shutdown=(streams.close, journal.close),
                )
                tasks.start_soon(_stop_on_signal, service, records, outbox, events, server)
                await server.serve()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await containment.end_everything()
                await containment.stop()
            for gone in ("daemon.json", OPERATOR_SOCKET):
                (settings.runtime / gone).unlink(missing_ok=True)


async def _stop_on_signal(
    service: SessionService,
    records: SessionStore,
    outbox: Outbox,
    events: EventFeed,
    server: HttpServer,
) -> None:
    # nohup ignores SIGHUP, and means it
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    wanted = [number for number in _ENDING if not (nohup and number == signal.SIGHUP)]
    with anyio.open_signal_receiver(*wanted) as signals:
        async for number in signals:
            log.info("%s: stopping", number.name)
            break
        # still within: another signal must not cut short what ends the children
        notify("STOPPING=1")
        await service.close()
        records.retry()
        async with anyio.create_task_group() as draining:
            draining.start_soon(outbox.drain, HTTP_GRACE_S)
            draining.start_soon(events.drain, HTTP_GRACE_S)
        records.report_unsaved()
        outbox.report_unsaved()
        server.should_exit = True
        await anyio.sleep_forever()


def _tell_ready(settings: Settings, url: str, instance: str) -> None:
    about = {"url": url, "pid": os.getpid(), "instance": instance, "version": __version__}
    write_private(settings.runtime / "daemon.json", json.dumps(about).encode() + b"\n")
    notify("READY=1")
    log.info("serving at %s, instance %s", url, instance)


if __name__ == "__main__":
    sys.exit(main())
