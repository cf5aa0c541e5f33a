"""What the CLI refuses before it starts, and the rules of text mode's stdin."""

from __future__ import annotations

import json
import os

import pytest

from stub.process import BOTH_WAYS, STREAM, Home


def refused(home: Home, *arguments: str, **further: str) -> str:
    """The one line on stderr of a start that is refused with nothing on stdout."""
    claude = home.say("x", *arguments, **further)
    assert claude.rest() == []
    assert claude.rc() == 1
    return claude.stderr.strip()


def test_an_unknown_option_is_refused_in_the_clis_words(home: Home) -> None:
    assert refused(home, *STREAM, "--cwd", "/") == "error: unknown option '--cwd'"
    assert refused(home, *STREAM, "--prompt-file=x") == "error: unknown option '--prompt-file'"


def test_a_value_that_looks_like_a_flag_is_a_value_only_after_an_equals_sign(home: Home) -> None:
    claude = home.say("x", *STREAM, "--resume=--verbose")
    assert '"--verbose" is not a UUID' in claude.rest()[0]["errors"][0]
    claude = home.say("x", *STREAM, "--resume", "--verbose")
    assert '"" is not a UUID' in claude.rest()[0]["errors"][0]


def test_stream_json_output_requires_verbose(home: Home) -> None:
    words = refused(home, "-p", "--output-format", "stream-json")
    assert "requires --verbose" in words


def test_stream_json_input_requires_stream_json_output(home: Home) -> None:
    assert "requires" in refused(home, "-p", "--input-format=stream-json")


@pytest.mark.skipif(os.getuid() != 0, reason="only root is refused")
@pytest.mark.parametrize("flag", ["--dangerously-skip-permissions", "--permission-mode=bypass"])
def test_root_may_bypass_only_in_a_sandbox(home: Home, flag: str) -> None:
    arguments = ["-p", flag.replace("=bypass", "=bypassPermissions")]
    for value in ("", "true", "0"):
        assert "cannot be used with root" in refused(home, *arguments, IS_SANDBOX=value)
    assert home.say("x", *arguments, IS_SANDBOX="1").rc() == 0
    assert home.say("x", *arguments, IS_SANDBOX="", CLAUDE_CODE_BUBBLEWRAP="1").rc() == 0
    assert home.say("x", "-p", "--allowedTools", "Bash", IS_SANDBOX="").rc() == 0


def test_a_missing_brief_is_refused(home: Home) -> None:
    words = refused(home, *STREAM, "--append-system-prompt-file", "/no/such")
    assert words == "Error: Append system prompt file not found: /no/such"


def test_a_brief_in_a_file_and_in_words_is_refused(home: Home) -> None:
    (home.root / "brief").write_text("b")
    refused(home, *STREAM, f"--append-system-prompt-file={home.root}/brief",
            "--append-system-prompt=c")  # fmt: skip


@pytest.mark.parametrize("config", ["/no/such.json", "{broken"])
def test_an_unusable_mcp_configuration_is_refused(home: Home, config: str) -> None:
    assert "Invalid MCP configuration" in refused(home, *STREAM, "--mcp-config", config)


def test_an_mcp_entry_of_the_wrong_shape_is_ignored_silently(home: Home) -> None:
    config = json.dumps({"mcpServers": {"boss": {"type": "http"}, "other": 3}})
    claude = home.say("x", *STREAM, "--mcp-config", config)
    assert claude.until_type("system", "init")["mcp_servers"] == []


@pytest.mark.parametrize("settings", ["/no/such.json", "{broken"])
def test_unusable_settings_are_refused(home: Home, settings: str) -> None:
    assert "Settings file not found" in refused(home, *STREAM, "--settings", settings)


def test_a_session_id_in_use_is_refused_in_the_same_directory_only(home: Home) -> None:
    uuid = "11111111-2222-4333-8444-555555555555"
    assert home.say("x", *STREAM, f"--session-id={uuid}").rc() == 0
    words = refused(home, *STREAM, f"--session-id={uuid}")
    assert words == f"Error: Session ID {uuid} is already in use."
    other = home.root / "other"
    other.mkdir()
    assert home.say("x", *STREAM, f"--session-id={uuid}", cwd=other).rc() == 0


def test_an_archived_session_frees_its_id(home: Home) -> None:
    uuid = "11111111-2222-4333-8444-555555555555"
    assert home.say("x", *STREAM, f"--session-id={uuid}").rc() == 0
    (path,) = home.transcripts()
    path.rename(f"{path}.archived")
    assert home.say("x", *STREAM, f"--session-id={uuid}").rc() == 0


@pytest.mark.parametrize("value", ["nonsense", ""])
def test_a_session_id_that_is_no_uuid_is_refused(home: Home, value: str) -> None:
    refused(home, *STREAM, f"--session-id={value}")


def test_the_version_is_printed_as_the_cli_prints_it(home: Home) -> None:
    for version in ("2.1.332", "2.1.197"):
        claude = home.start("--version", version=version)
        assert claude.rest_raw() == f"{version} (Claude Code)\n".encode()


def test_empty_stdin_is_refused_and_whitespace_ends_well_without_a_trace(home: Home) -> None:
    empty = home.say("", *STREAM)
    assert (empty.rest(), empty.rc()) == ([], 1)
    assert "Input must be provided" in empty.stderr
    blank = home.say(" \n\t\n", *STREAM)
    assert (blank.rest(), blank.rc(), blank.stderr) == ([], 0, "")
    assert home.transcripts() == []


def test_more_than_ten_megabytes_of_stdin_are_refused(home: Home) -> None:
    claude = home.say("x" * (10 * 1024 * 1024 + 1), *STREAM)
    assert (claude.rest(), claude.rc()) == ([], 1)
    assert "exceeds 10MB" in claude.stderr


def test_an_argument_and_stdin_are_joined_by_a_newline(home: Home) -> None:
    claude = home.say("STDIN", *STREAM, "ARGUMENT [[STUB " + '{"steps":[{"echo_prompt":1}]}]]')
    assert claude.result()["result"].endswith("]]\nSTDIN")


def test_a_prompt_without_the_end_of_stdin_waits_silently(home: Home) -> None:
    claude = home.start(*STREAM)
    claude.write(b"hello\n")
    with pytest.raises(Exception):  # noqa: B017, PT011 - queue.Empty: nothing came
        claude._lines.get(timeout=0.5)
    claude.close_stdin()
    assert claude.result()["result"] == "ok: hello\n"


def test_a_line_that_is_not_json_ends_a_stream_json_process(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user("one")
    claude.result()
    claude.write(b"not json\n")
    assert claude.rc() == 1
    assert "Error parsing streaming input line" in claude.stderr


def test_unknown_messages_and_blank_lines_are_ignored(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.write(b'\n{"type":"surprise"}\n[]\n')
    claude.user("one")
    assert claude.result()["result"] == "ok: one"


def test_plain_formats_print_the_text_or_the_result_line(home: Home) -> None:
    assert home.say("x", "-p").rest_raw() == b"ok: x\n"
    line = json.loads(home.say("x", "-p", "--output-format", "json").rest_raw())
    assert (line["type"], line["result"]) == ("result", "ok: x")
    missed = home.say("x", "-p", "--resume=nope")
    assert (missed.rest_raw(), missed.rc()) == (b"", 1)
