"""Files that cannot be acted on: set aside, told, and never lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from .channel import Channel, event, finish

NAMES = ["_stop.txt", "_keyinfo.txt", "_intervene.txt"]
LIMIT = 64 * 1024


def aside(channel: Channel, name: str) -> Path:
    """The one file that `name` was set aside as."""
    (found,) = channel.folder.glob(f"{name}.rejected-*")
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"x" * (LIMIT + 1), "is larger than 65536 bytes"),
        ("Rückwärts".encode("latin-1"), "is not UTF-8 at byte 1"),
        ("half of a character: é".encode()[:-1], "is not UTF-8 at byte 21"),
    ],
    ids=["empty", "blank", "oversized", "latin-1", "cut"],
)
def test_a_file_without_usable_text_is_set_aside_and_told(
    channel: Channel, name: str, content: bytes, why: str
) -> None:
    channel.put(name, content)
    answer = channel.fire()
    assert answer.said is None
    assert aside(channel, name).read_bytes() == content
    for place in (channel.told(), answer.log):
        assert f"{name} {why}; set aside as {aside(channel, name).name}" in place
    assert not channel.keyinfo.exists()
    assert channel.fire().said is None


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_exactly_the_limit_is_taken(channel: Channel, name: str) -> None:
    channel.put(name, b"x" * LIMIT)
    said = channel.fire().said
    text = channel.keyinfo.read_text().rstrip() if said is None else said["reason"]
    assert text.endswith("x" * LIMIT)
    assert channel.names() == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_linked_file_is_not_followed(channel: Channel, name: str) -> None:
    secret = channel.project / "secret"
    secret.write_text("top secret")
    (channel.folder / name).symlink_to(secret)
    answer = channel.fire()
    assert answer.said is None
    assert "top secret" not in answer.log + channel.told()
    assert aside(channel, name).is_symlink()
    assert secret.read_text() == "top secret"
    assert "without following a link" in channel.told()


def test_a_file_that_may_not_be_read_is_told_as_that(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    (channel.folder / "_intervene.txt").chmod(0)
    # root may read everything, unless it gives that up
    less = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    assert replace(channel, prefix=less if os.geteuid() == 0 else ()).fire().said is None
    assert "_intervene.txt cannot be opened: Permission denied; set aside" in channel.told()


def test_what_is_no_file_is_set_aside_without_waiting_for_it(channel: Channel) -> None:
    os.mkfifo(channel.folder / "_intervene.txt")
    (channel.folder / "_keyinfo.txt").mkdir()
    assert channel.fire().said is None
    assert aside(channel, "_intervene.txt").is_fifo()
    assert aside(channel, "_keyinfo.txt").is_dir()
    assert channel.told().count("is not a regular file") == 2


def test_a_linked_channel_is_none(channel: Channel) -> None:
    channel.put("_intervene.txt", "plan B")
    linked = Channel(channel.project, task="linked")
    linked.folder.symlink_to(channel.folder)
    assert linked.fire().said is None
    assert channel.names() == {"_intervene.txt"}


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_an_output_that_cannot_be_written_costs_no_delivery(channel: Channel, kind: str) -> None:
    elsewhere = channel.project / "elsewhere"
    elsewhere.write_text("")
    output = channel.folder / "output.txt"
    output.symlink_to(elsewhere) if kind == "link" else output.mkdir()
    channel.put("_intervene.txt", "plan B")
    answer = channel.fire()
    assert answer.reason.endswith("plan B")
    assert "output.txt cannot be written" in answer.log
    assert elsewhere.read_text() == ""


def test_key_information_is_not_written_through_a_link(channel: Channel) -> None:
    elsewhere = channel.project / "elsewhere"
    channel.keyinfo.parent.mkdir(parents=True)
    channel.keyinfo.symlink_to(elsewhere)
    channel.put("_keyinfo.txt", "the port is 9")
    assert channel.fire().said is None
    assert not elsewhere.exists()
    assert (channel.folder / "_keyinfo.txt").read_text() == "the port is 9"


def test_key_information_without_a_place_is_left_for_the_next_step(channel: Channel) -> None:
    obstacle = channel.project / ".claude"
    obstacle.write_text("a file where a folder belongs")
    channel.put("_keyinfo.txt", "the port is 9")
    assert "left for the next step" in channel.fire().log
    obstacle.unlink()
    channel.fire()
    assert channel.keyinfo.read_text() == "the port is 9\n"


def test_a_file_still_open_for_writing_is_left_for_the_next_step(channel: Channel) -> None:
    with (channel.folder / "_intervene.txt").open("w") as writer:
        writer.write("Switch to ")
        writer.flush()
        answer = channel.fire()
        assert answer.said is None
        assert "its writer still has it open" in channel.told()
        writer.write("plan B")
    assert channel.fire().reason == "[PARENT INTERVENTION] Switch to plan B"


def test_a_file_that_is_closed_while_the_hook_looks_arrives_whole(channel: Channel) -> None:
    with channel.popen() as process:
        with (channel.folder / "_intervene.txt").open("w") as writer:
            process.stdin.write(event())
            process.stdin.close()
            process.stdin = None
            while not (claimed := list(channel.folder.glob("*.claimed-*"))):
                assert process.poll() is None
            writer.write("Switch to plan B")
        del claimed
        answer = finish(process, b"")
    # on a busy machine it may have lost patience first; then the next step has it
    if answer.said is None:
        answer = channel.fire()
    assert answer.reason == "[PARENT INTERVENTION] Switch to plan B"
    assert channel.names() == set()


@settings(max_examples=40)
@given(content=st.binary(max_size=200), name=st.sampled_from(NAMES))
@example(content=b"\x00", name="_intervene.txt")
@example(content=b"\xef\xbb\xbfmark", name="_intervene.txt")
def test_any_bytes_are_either_delivered_or_kept(
    fresh: Callable[[], Channel], content: bytes, name: str
) -> None:
    channel = fresh()
    channel.put(name, content)
    said = channel.fire().said
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not text:
        assert said is None
        assert aside(channel, name).read_bytes() == content
    elif name == "_keyinfo.txt":
        assert channel.keyinfo.read_bytes() == text.encode() + b"\n"
    else:
        assert said["reason"].partition("] ")[2] == text
        assert channel.names() == set()


def test_a_link_in_place_of_temp_is_not_followed(channel: Channel) -> None:
    """Issue 10, 15: whoever can write the project folder could lead the hook elsewhere."""
    elsewhere = channel.project / "elsewhere"
    (channel.project / "temp").rename(elsewhere)
    (channel.project / "temp").symlink_to(elsewhere)
    (elsewhere / channel.task / "_stop.txt").write_text("stop")
    answer = channel.fire()
    assert answer.said is None
    assert {p.name for p in (elsewhere / channel.task).iterdir()} == {"_stop.txt"}


def test_of_stdin_a_mebibyte_is_kept_and_the_rest_read_to_its_end(channel: Channel) -> None:
    """Issue 10, 15: a longer event is one that cannot be read, and is left to the next step."""
    channel.put("_intervene.txt", "look here")
    answer = channel.fire("--for=main", given=event(tool_response="x" * (2 * 1024 * 1024)))
    assert answer.said is None
    assert "an event that cannot be read is nobody's" in answer.log
    fits = event(tool_response="x" * (1024 * 1024 - 1000))
    assert "look here" in channel.fire("--for=main", given=fits).reason
