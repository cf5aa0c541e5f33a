"""The commands against a real daemon, as a user types them."""

from __future__ import annotations

import json
import signal

import pytest
from support import processes
from support.daemon import Daemon
from support.stub import HANG, script, text

from cli.running import begun, hive

ANSWER = script(text("the answer"))


def test_run_prints_the_answer_alone_on_stdout_and_progress_on_stderr(daemon: Daemon) -> None:
    """Issue 13, 2."""
    done = hive(daemon, "run", "--name", "one", ANSWER)
    assert (done.returncode, done.stdout) == (0, "the answer\n"), done.stderr
    assert "says: the answer" in done.stderr


def test_run_works_where_the_caller_stands(daemon: Daemon) -> None:
    hive(daemon, "run", "--name", "here", ANSWER)
    shown = json.loads(hive(daemon, "show", "--json", "here").stdout)
    assert shown["dir"] == str(daemon.work_dir)


def test_run_takes_its_prompt_from_stdin(daemon: Daemon) -> None:
    done = hive(daemon, "run", "-q", "-", given=ANSWER)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the answer\n", "")


def test_run_of_a_failure_has_its_code_and_says_why(daemon: Daemon) -> None:
    done = hive(daemon, "run", "-q", script({"api_error": 529}))
    assert done.returncode == 14
    assert "failed (overloaded)" in done.stderr


def test_words_of_a_subagent_do_not_act_on_the_terminal(daemon: Daemon) -> None:
    done = hive(daemon, "run", "-q", script({"api_error": 529, "message": "\x1b[2Jcleared"}))
    assert "cleared" in done.stderr
    assert "\x1b" not in done.stderr
    answer = script(text("\x9b2Jcleared"))
    assert "\x9b" not in hive(daemon, "run", "-q", "--json", answer).stdout


def test_run_prints_the_whole_of_a_long_answer(daemon: Daemon) -> None:
    long = "word " * 4_000
    done = hive(daemon, "run", "-q", script(text(long)))
    assert done.stdout.strip() == long.strip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_that_is_cut_interrupts_the_subagent_and_says_so(
    daemon: Daemon, number: signal.Signals
) -> None:
    """Issue 13, 2."""
    name = f"cut-{number.name.lower()}"
    process = begun(daemon, ["run", "--name", name, script(text("working"), HANG)])
    assert process.stderr is not None
    while "working" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    _, said = process.communicate(timeout=processes.PATIENCE_S)
    assert process.returncode == 13
    assert f"interrupting {name}" in said
    assert "killed (interrupt)" in said


def test_a_session_is_started_continued_awaited_and_shown(daemon: Daemon) -> None:
    """Issue 13, 2."""
    assert "is running" in hive(daemon, "start", "two", ANSWER).stdout
    assert hive(daemon, "wait", "two").returncode == 0
    assert hive(daemon, "continue", "two", script(text("more"))).returncode == 0
    done = hive(daemon, "wait", "two")
    assert "> more" in done.stdout
    assert "finished its turn" in hive(daemon, "show", "two").stdout


def test_ps_lists_what_runs_and_with_a_what_has_ended(daemon: Daemon) -> None:
    hive(daemon, "run", "-q", "--name", "gone", ANSWER)
    hive(daemon, "start", "busy", script(text("working"), HANG))
    names = [line.split()[0] for line in hive(daemon, "ps").stdout.splitlines()]
    assert "busy" in names
    assert "gone" not in names
    assert "gone" in hive(daemon, "ps", "-a").stdout
    found = json.loads(hive(daemon, "ps", "--json").stdout)
    assert [one["name"] for one in found["sessions"] if one["name"] == "busy"] == ["busy"]
    assert hive(daemon, "interrupt", "--force", "busy").returncode == 0
    assert hive(daemon, "wait", "busy").returncode == 13


def test_ps_in_a_pipe_has_no_colours(daemon: Daemon) -> None:
    assert "\x1b" not in hive(daemon, "ps", "-a").stdout


def test_the_beginning_of_a_name_is_enough_where_no_other_begins_so(daemon: Daemon) -> None:
    """Issue 13, 2."""
    for name in ("unique-first", "twin-a", "twin-b"):
        hive(daemon, "run", "-q", "--name", name, ANSWER)
    assert "`unique-first` finished" in hive(daemon, "show", "uniq").stdout
    refused = hive(daemon, "show", "twin")
    assert refused.returncode == 1
    assert "`twin` can be twin-a, twin-b" in refused.stderr


def test_logs_show_what_it_says_and_follow_to_the_end(daemon: Daemon) -> None:
    gate = daemon.root / "gate"
    steps = script(text("first"), {"wait_file": str(gate)}, text("second"))
    hive(daemon, "start", "talker", steps)
    process = begun(daemon, ["logs", "-f", "talker"])
    assert process.stdout is not None
    assert "says: first" in process.stdout.readline()
    gate.touch()
    rest, _ = process.communicate(timeout=processes.PATIENCE_S)
    assert "says: second" in rest
    assert hive(daemon, "logs", "-n", "1", "talker").stdout.endswith("the run is over\n")


def test_a_running_subagent_is_told_something(daemon: Daemon) -> None:
    hive(daemon, "start", "told", script(text("working"), HANG))
    assert "info" in hive(daemon, "info", "told", "lunch is at noon").stdout
    assert "stop" in hive(daemon, "stop", "told", "enough").stdout
    assert hive(daemon, "interrupt", "--force", "told").returncode == 0


def test_notices_say_whether_they_were_delivered(daemon: Daemon) -> None:
    hive(daemon, "run", "-q", "--name", "noted", ANSWER)
    lines = [line for line in hive(daemon, "notices").stdout.splitlines() if "noted" in line]
    assert len(lines) == 1
    assert lines[0].split()[0] in ("owed", "delivered")
    assert "finished noted: Subagent `noted` finished its turn." in lines[0]


def test_doctor_names_what_is_wrong_and_what_to_do(daemon: Daemon) -> None:
    """Issue 13, 2: the stand-in needs no login, and yet no claude would work without one."""
    done = hive(daemon, "doctor")
    assert done.returncode == 1
    assert "FAIL claude_login" in done.stdout
    assert "/login" in done.stdout
    assert "ok   claude: " in done.stdout


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_delegation_is_read_from_a_file(daemon: Daemon, form: str) -> None:
    """Issue 13, 2."""
    tasks = {"tasks": [{"role": "scout", "task": ANSWER, "name": f"of-{form}"}]}
    yaml = f"tasks:\n- role: scout\n  name: of-yaml\n  task: {json.dumps(ANSWER)}\n"
    given = json.dumps(tasks) if form == "json" else yaml
    done = hive(daemon, "delegate", "--wait", "-", given=given)
    assert done.returncode == 0, done.stderr
    assert "> the answer" in done.stdout


@pytest.mark.parametrize("given", ["[1]", "tasks: [", "just words", "route: x", "within_s: 1"])
def test_a_file_that_makes_no_sense_is_refused_in_one_line(daemon: Daemon, given: str) -> None:
    done = hive(daemon, "delegate", "-", given=given)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_refusal_is_one_line_and_code_1(daemon: Daemon) -> None:
    done = hive(daemon, "start", "NOT A NAME", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hive-subagent: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["frobnicate"], ["show"], ["run", "--bad", "x"]])
def test_a_mistake_in_the_command_line_is_code_2(daemon: Daemon, arguments: list[str]) -> None:
    assert hive(daemon, *arguments).returncode == 2


def test_without_a_daemon_every_command_says_so_in_one_line(daemon: Daemon) -> None:
    nowhere = {"HIVE_SUBAGENT_SOCKET": "/nowhere/operator.sock"}
    for arguments in (["ps"], ["run", "x"], ["wait"], ["interrupt", "x"]):
        done = hive(daemon, *arguments, more=nowhere)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
        assert "no daemon" in done.stderr


def test_help_has_an_example_for_those_who_write_scripts(daemon: Daemon) -> None:
    assert "Example: hive-subagent run" in hive(daemon, "run", "--help").stdout
