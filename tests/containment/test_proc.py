"""What is read from /proc, of real processes and of any bytes."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.containment import proc
from hive_subagent.containment.proc import Process

from .conftest import is_alive


def test_this_process_is_seen_as_it_is() -> None:
    own = proc.look(os.getpid())
    assert own is not None
    assert (own.parent, own.group, own.session) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert own.state == "R"
    assert own.alive
    assert proc.snapshot()[os.getpid()].key == own.key


@given(name=st.text(max_size=15), rest=st.lists(st.integers(0, 2**64 - 1), min_size=49))
def test_a_name_may_hold_anything(name: str, rest: list[int]) -> None:
    line = f"42 ({name}) S {' '.join(map(str, rest))}\n".encode(errors="surrogatepass")
    parsed = proc.parse_stat(line)
    assert parsed is not None
    assert (parsed.pid, parsed.parent, parsed.started) == (42, rest[0], rest[18])


@given(st.binary())
def test_no_bytes_make_the_reading_of_a_stat_line_fail(line: bytes) -> None:
    parsed = proc.parse_stat(line)
    assert parsed is None or isinstance(parsed, Process)


def test_a_zombie_is_not_alive_and_its_command_is_its_name() -> None:
    with subprocess.Popen(["sleep", "0"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seen = proc.look(process.pid)
        assert seen is not None
        assert not seen.alive
        assert proc.describe(seen).command == "[sleep]"
        process.wait()
        assert proc.look(process.pid) is None


def test_a_process_whose_first_thread_has_left_is_alive() -> None:
    script = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=lambda: (print('ready', flush=True), time.sleep(1000))).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            while (seen := proc.look(process.pid)) is not None and seen.state != "Z":
                os.sched_yield()
            assert seen is not None
            assert seen.alive
            assert not is_alive(process.pid), "by its state alone it looks dead"
        finally:
            process.kill()


def test_trees_hold_exactly_the_descendants() -> None:
    script = "sleep 1000 & (sleep 1000 & wait) & echo $$; wait"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            while len(found := proc.trees([process.pid]) or {}) < 4:
                os.sched_yield()
            assert process.pid in found
            assert os.getpid() not in found
        finally:
            for pid in found:
                os.kill(pid, 9)


def test_a_long_list_of_children_is_read_to_its_end() -> None:
    script = "for i in $(seq 600); do sleep 1000 & done; echo ready; wait"
    with subprocess.Popen(
        ["bash", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert len(proc.children(process.pid) or []) == 600
        finally:
            os.killpg(process.pid, 9)
    assert proc.children(process.pid) == []


def test_a_variable_of_the_environment_is_read_whole_and_by_its_whole_name() -> None:
    environment = {"XY": "1", "X": "a=b" * 30_000, "XZ": "2"}
    argv = ["/bin/sh", "-c", "echo; read x"]
    with subprocess.Popen(
        argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            # a spawn returns before the kernel shows the new environment
            assert process.stdout is not None
            process.stdout.readline()
            assert proc.environment_value(process.pid, b"X") == "a=b" * 30_000
            assert proc.environment_value(process.pid, b"Y") is None
        finally:
            process.kill()
