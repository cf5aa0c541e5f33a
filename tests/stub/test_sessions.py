"""Sessions on disk: where they lie, titles, resuming, what is remembered."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent_stub import transcripts
from stub.process import BOTH_WAYS, STREAM, Home, directive

UUID = "aaaaaaaa-1111-4111-8111-111111111111"


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("/home/agent/co_l", "-home-agent-co-l"),
        ("/home/agent/co.l", "-home-agent-co-l"),
        ("/Home/É😀x", "-Home----x"),
    ],
)
def test_a_directory_is_encoded_unit_by_unit(directory: str, name: str) -> None:
    assert transcripts.encode(directory) == name


@given(st.text(min_size=1, max_size=400))
def test_an_encoded_name_is_short_and_safe(directory: str) -> None:
    name = transcripts.encode(directory)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
    units = len(directory.encode("utf-16-le", "surrogatepass")) // 2
    assert len(name) == units if units <= 200 else name[200] == "-"


def test_a_long_directory_ends_in_the_hash_of_the_whole_path() -> None:
    # reckoned by hand with h = h*31 + c in 32 bits, absolute, base 36
    path = "/" + "a" * 200
    total = 0
    for unit in path:
        total = (total * 31 + ord(unit)) & 0xFFFFFFFF
    signed = total - 2**32 if total >= 2**31 else total
    assert int(transcripts.encode(path)[201:], 36) == abs(signed)
    assert transcripts.encode(path)[:200] == "-" + "a" * 199


def test_a_session_lies_under_the_real_path_with_its_title_first(home: Home) -> None:
    link = home.root / "link"
    link.symlink_to(home.work)
    claude = home.say("x", *STREAM, f"--session-id={UUID}", "--name=alpha", cwd=link)
    assert claude.rc() == 0
    (path,) = home.transcripts()
    assert path.parent.name == transcripts.encode(os.path.realpath(home.work))
    assert path.name == f"{UUID}.jsonl"
    assert entries(path)[0] == {"type": "custom-title", "customTitle": "alpha", "sessionId": UUID}
    assert entries(path)[1] == {"type": "agent-name", "agentName": "alpha", "sessionId": UUID}
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_transcript_exists_before_any_answer_and_survives_a_kill(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--name=alpha")
    claude.user(directive({"text": "one"}, {"hang": True}))
    claude.until_type("assistant")
    claude.process.kill()
    again = home.say(directive({"echo_history": True}), *STREAM, "--resume=alpha")
    assert "hang" in again.result()["result"]


@pytest.mark.parametrize("value", ["alpha", "ALPHA", UUID])
def test_a_session_is_resumed_by_title_in_any_case_or_by_id(home: Home, value: str) -> None:
    assert home.say("first", *STREAM, f"--session-id={UUID}", "--name=Alpha").rc() == 0
    claude = home.say(directive({"echo_history": True}), *STREAM, f"--resume={value}")
    assert claude.result()["session_id"] == UUID
    assert json.loads(claude.seen[-1]["result"]) == ["first"]
    assert len(home.transcripts()) == 1


@pytest.mark.parametrize("value", ["alph", "alpha2", "", "00000000-0000-4000-8000-000000000000"])
def test_a_part_of_a_title_an_empty_one_or_a_foreign_id_misses(home: Home, value: str) -> None:
    assert home.say("first", *STREAM, "--name=alpha").rc() == 0
    claude = home.say("x", *STREAM, f"--resume={value}")
    (line,) = claude.rest()
    assert (line["subtype"], line["is_error"], line["num_turns"]) == (
        "error_during_execution", True, 0,
    )  # fmt: skip
    assert claude.stderr.strip() == line["errors"][0]
    assert claude.rc() == 1
    assert len(home.transcripts()) == 1


def test_a_miss_comes_before_any_message_and_without_the_end_of_stdin(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--resume=nope")
    assert claude.next() is not None
    assert claude.rc() == 1


def test_two_sessions_of_one_title_are_listed_newest_first(home: Home) -> None:
    """R19"""
    other = UUID.replace("1111-4111", "2222-4111")
    for uuid in (UUID, other):
        assert home.say("x", *STREAM, f"--session-id={uuid}", "--name=hit").rc() == 0
    for at, uuid in ((100, UUID), (200, other)):
        path = next(p for p in home.transcripts() if uuid in p.name)
        os.utime(path, (at + 0.25, at + 0.25))
    claude = home.say("x", *STREAM, "--resume=Hit")
    (line,) = claude.rest()
    assert line["errors"][0].splitlines() == [
        'Error: --resume "Hit" matches 2 sessions. Pass one of these session IDs to disambiguate:',
        f"  {other}  (modified 1970-01-01T00:03:20.250Z)",
        f"  {UUID}  (modified 1970-01-01T00:01:40.250Z)",
    ]
    assert claude.rc() == 1


def test_a_fork_keeps_the_title_which_becomes_ambiguous(home: Home) -> None:
    assert home.say("x", *STREAM, f"--session-id={UUID}", "--name=hit").rc() == 0
    fork = home.say("x", *STREAM, f"--resume={UUID}", "--fork-session")
    assert fork.result()["session_id"] != UUID
    assert fork.rc() == 0
    assert "matches 2 sessions" in home.say("x", *STREAM, "--resume=hit").rest()[0]["errors"][0]


def test_resume_with_a_name_renames(home: Home) -> None:
    assert home.say("x", *STREAM, "--name=old").rc() == 0
    assert home.say("x", *STREAM, "--resume=old", "--name=new").rc() == 0
    assert home.say("x", *STREAM, "--resume=old").rc() == 1
    assert home.say("x", *STREAM, "--resume=new").rc() == 0


def test_another_directory_finds_by_id_only_and_only_since_332(home: Home) -> None:
    other = home.root / "other"
    other.mkdir()
    assert home.say("x", *STREAM, f"--session-id={UUID}", "--name=alpha").rc() == 0
    for version, by_id in (("2.1.197", 1), ("2.1.332", 0)):
        by_title = home.say("x", *STREAM, "--resume=alpha", version=version, cwd=other)
        assert by_title.rc() == 1
        claude = home.say("x", *STREAM, f"--resume={UUID}", version=version, cwd=other)
        assert claude.rc() == by_id
    assert len(home.transcripts()) == 1  # appended where it lay


def test_directories_that_encode_alike_share_their_titles(home: Home) -> None:
    for name in ("co_l", "co.l"):
        (home.root / name).mkdir()
    assert home.say("x", *STREAM, "--name=alpha", cwd=home.root / "co_l").rc() == 0
    assert home.say("x", *STREAM, "--resume=alpha", cwd=home.root / "co.l").rc() == 0


def test_a_repository_finds_titles_of_its_subdirectories_and_worktrees(home: Home) -> None:
    repository, tree = home.root / "repo", home.root / "tree"
    (repository / ".git" / "worktrees" / "tree").mkdir(parents=True)
    (repository / "sub").mkdir()
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {repository}/.git/worktrees/tree\n")
    (repository / ".git" / "worktrees" / "tree" / "gitdir").write_text(f"{tree}/.git\n")
    assert home.say("x", *STREAM, "--name=sub", cwd=repository / "sub").rc() == 0
    assert home.say("x", *STREAM, "--name=tree", cwd=tree).rc() == 0
    for place in (repository, repository / "sub", tree):
        for title in ("sub", "tree"):
            assert home.say("x", *STREAM, f"--resume={title}", cwd=place).rc() == 0


def test_the_brief_is_forgotten_by_197_and_frozen_by_332(home: Home) -> None:
    """R21"""
    (home.root / "one").write_text("FIRST")
    (home.root / "two").write_text("SECOND")
    show = directive({"echo_brief": True})
    for version, without, with_another in (
        ("2.1.197", "", "SECOND"),
        ("2.1.332", "FIRST", "FIRST"),
    ):
        first = [*STREAM, f"--append-system-prompt-file={home.root}/one", f"--name=v{version}"]
        resume = [*STREAM, f"--resume=v{version}"]
        another = [*resume, f"--append-system-prompt-file={home.root}/two"]
        assert home.say(show, *first, version=version).result()["result"] == "FIRST"
        assert home.say(show, *resume, version=version).result()["result"] == without
        assert home.say(show, *another, version=version).result()["result"] == with_another


def test_cost_restarts_at_resume_in_197_and_goes_on_in_332(home: Home) -> None:
    for version, expected in (("2.1.197", 0.001), ("2.1.332", 0.0016)):
        assert home.say("x", *STREAM, f"--name=v{version}", version=version).rc() == 0
        claude = home.say("x", *STREAM, f"--resume=v{version}", version=version)
        assert claude.result()["total_cost_usd"] == pytest.approx(expected)


def test_the_title_is_announced_before_init_since_332(home: Home) -> None:
    claude = home.say("x", *STREAM, "--name=alpha")
    assert [line.get("subtype") for line in claude.rest()[:2]] == ["session_title_changed", "init"]
    old = home.say("x", *STREAM, "--name=beta", version="2.1.197")
    assert old.rest()[0]["subtype"] == "init"


def test_the_model_of_a_resumed_session_is_the_transcripts(home: Home) -> None:
    claude = home.say("x", *STREAM, "--name=a", version="2.1.197")
    assert claude.until_type("system", "init")["model"] == "claude-opus-4-8[1m]"
    claude.rc()
    claude = home.say("x", *STREAM, "--resume=a", version="2.1.197")
    assert claude.until_type("system", "init")["model"] == "claude-opus-4-8"


def test_an_unwritable_home_runs_well_and_saves_nothing(home: Home) -> None:
    """R24"""
    home.config.write_text("a file where a directory should be")
    claude = home.say("x", *STREAM, "--name=alpha")
    assert claude.result()["subtype"] == "success"
    assert (claude.rc(), claude.stderr) == (0, "")
    assert home.say("x", *STREAM, "--resume=alpha").rc() == 1


def test_a_session_can_be_told_not_to_be_saved(home: Home) -> None:
    assert home.say("x", *STREAM, "--no-session-persistence").rc() == 0
    assert home.say("x", *STREAM, CLAUDE_CODE_SKIP_PROMPT_HISTORY="1").rc() == 0
    assert home.transcripts() == []


def test_a_live_process_is_listed_and_a_killed_one_stays_listed(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--name=alpha")
    claude.user("x")
    session = claude.result()["session_id"]
    (file,) = (home.config / "sessions").iterdir()
    assert json.loads(file.read_bytes()) == {
        "pid": claude.pid, "sessionId": session, "cwd": str(home.work), "name": "alpha",
    }  # fmt: skip
    claude.close_stdin()
    assert claude.rc() == 0
    assert not file.exists()
    killed = home.start(*BOTH_WAYS)
    killed.user("x")
    killed.result()
    killed.process.kill()
    killed.rc()
    assert (home.config / "sessions" / f"{killed.pid}.json").exists()


def test_old_transcripts_vanish_unless_the_settings_keep_them(home: Home) -> None:
    """R23"""
    assert home.say("x", *STREAM, f"--session-id={UUID}").rc() == 0
    (path,) = home.transcripts()
    then = time.time() - 40 * 86400
    archived = path.with_suffix(".jsonl.archived")
    archived.write_bytes(b"{}")
    for file in (path, archived):
        os.utime(file, (then, then))
    assert home.say("x", *STREAM, "--settings", '{"cleanupPeriodDays":36500}').rc() == 0
    assert path.exists()
    assert home.say("x").rc() == 0
    assert not path.exists()
    assert archived.exists()


def test_a_torn_last_line_does_not_stop_a_resume(home: Home) -> None:
    assert home.say("x", *STREAM, "--name=alpha").rc() == 0
    (path,) = home.transcripts()
    with path.open("ab") as file:
        file.write(b'{"type":"user","mess')
    assert home.say("x", *STREAM, "--resume=alpha").rc() == 0


def test_two_processes_may_run_one_session(home: Home) -> None:
    """R22: the CLI has no lock; keeping them apart is the supervisor's work."""
    first = home.start(*BOTH_WAYS, "--name=alpha")
    first.user("one")
    first.result()
    assert home.say("two", *STREAM, "--resume=alpha").rc() == 0
    first.user("three")
    first.result()
    text = home.transcripts()[0].read_text()
    assert all(f'"content":"{word}"' in text for word in ("one", "two", "three"))


def test_a_message_with_a_uuid_stands_in_the_transcript_under_it(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"text": "one"}), uuid=UUID)
    claude.result()
    [path] = home.transcripts()
    assert [line["uuid"] for line in entries(path) if line["type"] == "user"] == [UUID]
