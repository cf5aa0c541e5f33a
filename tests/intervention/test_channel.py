"""Files of a parent, each consumed once."""

from __future__ import annotations

import os
import select
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from hive_subagent.intervention.channel import Channel
from hive_subagent.intervention.intervention import TEXT_LIMIT
from hive_subagent.models.session import InterventionKind
from hive_subagent.system import inotify
from intervention.parent import BOUND_S, Collected, Parent


@pytest.fixture
async def parent(tmp_path: Path) -> Parent:
    return Parent(tmp_path / "channels" / "lint")


async def test_a_written_and_a_moved_file_arrive_at_once_and_are_gone(parent: Parent) -> None:
    parent.write("_intervene.txt", b"plan B\n")
    await parent.until(lambda: len(parent.got) == 1)
    parent.move_in("_keyinfo.txt", b"it moved")
    await parent.until(lambda: len(parent.got) == 2)
    assert parent.got == [("redirect", "plan B"), ("info", "it moved")]
    assert parent.files == []


async def test_a_file_that_is_still_being_written_is_left_alone(parent: Parent) -> None:
    with (parent.directory / "_intervene.txt").open("wb") as half:
        half.write(b"half ")
        half.flush()
        parent.write("_keyinfo.txt", b"another")
        await parent.until(lambda: len(parent.got) == 1)
        parent.channel.look()
        half.write(b"whole")
    await parent.until(lambda: len(parent.got) == 2)
    assert parent.got == [("info", "another"), ("redirect", "half whole")]
    assert parent.files == []


async def test_a_stop_is_looked_at_first_and_the_others_are_left(parent: Parent) -> None:
    for name in ("_intervene.txt", "_keyinfo.txt", "_stop.txt"):
        (parent.directory / name).write_text(name)
    parent.channel.look()
    assert parent.got == [("stop", "_stop.txt")]
    assert parent.files == ["_intervene.txt", "_keyinfo.txt"]
    parent.channel.look()
    assert parent.got[1:] == [("info", "_keyinfo.txt"), ("redirect", "_intervene.txt")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b"x" * (TEXT_LIMIT + 1), f"it is over {TEXT_LIMIT} bytes"),
    ],
)
async def test_an_unusable_file_is_told_and_set_aside(
    parent: Parent, content: bytes, reason: str
) -> None:
    for number in (1, 2):
        parent.move_in("_stop.txt", content)
        parent.channel.look()
        aside = parent.directory / f"_stop.txt.rejected.{number}"
        assert aside.read_bytes() == content
        assert f"_stop.txt is not used: {reason}; it is kept as {aside.name}" in parent.output
    assert parent.got == []


async def test_a_file_of_the_largest_size_arrives(parent: Parent) -> None:
    parent.move_in("_keyinfo.txt", b"x" * TEXT_LIMIT)
    parent.channel.look()
    assert parent.got == [("info", "x" * TEXT_LIMIT)]


async def test_a_link_a_fifo_and_a_folder_are_not_followed(parent: Parent, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (parent.directory / "_stop.txt").symlink_to(secret)
    os.mkfifo(parent.directory / "_keyinfo.txt")
    (parent.directory / "_intervene.txt").mkdir()
    parent.channel.look()
    assert parent.got == []
    assert secret.read_text() == "secret"
    assert parent.files == [
        "_intervene.txt.rejected.3",
        "_keyinfo.txt.rejected.2",
        "_stop.txt.rejected.1",
        "output.txt",
    ]


async def test_a_draft_beside_the_file_is_no_word_yet(parent: Parent) -> None:
    parent.write("._keyinfo.txt.draft", b"half")
    parent.write("_keyinfo.txt.draft", b"half")
    parent.write("_stop.txt", b"enough")
    await parent.until(lambda: len(parent.got) == 1)
    assert parent.got == [("stop", "enough")]
    assert parent.files == ["._keyinfo.txt.draft", "_keyinfo.txt.draft"]


async def test_a_writer_that_never_ends_does_not_hold_up_the_next_one(parent: Parent) -> None:
    with (parent.directory / "_stop.txt").open("wb"):
        parent.channel.look()
        parent.move_in("_stop.txt", b"enough")
        await parent.until(lambda: len(parent.got) == 1)
    assert parent.got == [("stop", "enough")]


async def test_a_file_that_a_daemon_claimed_before_it_died_comes_first_and_under_the_same_id(
    parent: Parent,
) -> None:
    """Should it have been written down as well: by its id it counts once."""

    class Died(Exception):
        pass

    class Dies(Collected):
        def put(self, kind: InterventionKind, text: str, id: str) -> None:
            parent.ids.append(id)
            raise Died

    parent.channel.close()
    parent.move_in("_keyinfo.txt", b"first")
    with pytest.raises(Died):
        Channel(parent.directory, watches=inotify.Watches(), inbox=Dies()).look()
    parent.move_in("_keyinfo.txt", b"second")
    again = Parent(parent.directory)
    again.channel.look()
    assert again.got == [("info", "first"), ("info", "second")]
    assert again.ids[0] == parent.ids[0]
    assert len(set(again.ids)) == 2
    assert again.files == []


async def test_who_opens_a_file_while_it_is_read_does_not_kill_us(parent: Parent) -> None:
    """The kernel tells the holder of a lease by SIGIO, unless told otherwise, and that kills."""
    file = parent.directory / "file"
    file.write_bytes(b"x")
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for entry in list(parent.directory.iterdir()):
                with suppress(OSError), entry.open("ab"):
                    pass

    with ThreadPoolExecutor() as writers:
        for _ in range(2):
            writers.submit(write)
        try:
            for number in range(300):
                parent.move_in("_keyinfo.txt", b"%d" % number)
                parent.channel.look()
        finally:
            stop.set()
    parent.channel.look()
    assert sorted(int(text) for _, text in parent.got) == list(range(300))


async def test_a_stop_that_lay_there_is_set_aside(parent: Parent) -> None:
    parent.write("_stop.txt", b"too late")
    parent.channel.refuse("_stop.txt", "it was meant for a run that was over")
    assert parent.got == []
    assert "_stop.txt is not used: it was meant for a run that was over" in parent.output
    assert "_stop.txt.rejected.1" in parent.files


async def test_twenty_writers_of_one_file_lose_no_word_that_was_taken_whole(parent: Parent) -> None:
    """A later rename replaces a file that was not taken yet: what arrives is always whole."""
    texts = {f"writer {n} " + "x" * 2_000 for n in range(20)}

    def write(text: str) -> None:
        draft = parent.directory.parent / f"draft-{threading.get_ident()}"
        draft.write_text(text)
        draft.rename(parent.directory / "_keyinfo.txt")

    async with anyio.create_task_group() as tasks:
        for text in texts:
            tasks.start_soon(anyio.to_thread.run_sync, write, text)
    await parent.until(lambda: bool(parent.got))
    parent.channel.look()
    taken = [text for _, text in parent.got]
    assert len(set(taken)) == len(taken)
    assert set(taken) <= texts
    assert parent.files == []


async def test_what_has_no_room_stays_where_it_is_until_there_is_some(parent: Parent) -> None:
    inbox = Collected(room=False)
    parent.channel.close()
    channel = Channel(parent.directory, watches=inotify.Watches(), inbox=inbox)
    parent.move_in("_intervene.txt", b"plan B")
    parent.move_in("_keyinfo.txt", b"it moved")
    for _ in range(3):
        channel.look()
    assert parent.files == ["_intervene.txt", "_keyinfo.txt", "output.txt"]
    assert parent.output.count("_intervene.txt is left until") == 1
    parent.move_in("_stop.txt", b"enough")
    channel.attend()
    inbox.room = True
    channel.attend()
    assert inbox.texts == ["enough", "it moved", "plan B"]
    assert parent.files == ["output.txt"]


async def test_a_closed_channel_leaves_what_comes_for_the_next_run(parent: Parent) -> None:
    parent.channel.close()
    parent.write("_keyinfo.txt", b"for later")
    await anyio.lowlevel.checkpoint()
    assert parent.got == []
    again = Parent(parent.directory)
    again.channel.look()
    assert again.got == [("info", "for later")]


async def test_a_fresh_session_begins_with_an_empty_channel(parent: Parent) -> None:
    parent.write("_stop.txt", b"old")
    parent.channel.output.tell("old words")
    (parent.directory / "folder").mkdir()
    Channel(parent.directory, watches=inotify.Watches(), inbox=Collected(), anew=True)
    assert parent.files == []


async def test_a_channel_is_private(parent: Parent) -> None:
    parent.channel.output.tell("x")
    assert parent.directory.stat().st_mode & 0o777 == 0o700
    assert (parent.directory / "output.txt").stat().st_mode & 0o777 == 0o600


async def test_an_idle_channel_wakes_nobody(tmp_path: Path) -> None:
    """One descriptor for all channels; without a write it never becomes readable."""
    watches = inotify.Watches()
    channels = [Channel(tmp_path / str(n), watches=watches, inbox=Collected()) for n in range(50)]
    descriptor = watches._fd
    assert descriptor is not None
    readable, _, _ = select.select([descriptor], [], [], 0)
    assert readable == []
    for channel in channels:
        channel.close()


async def test_a_channel_that_somebody_removed_holds_up_no_other(tmp_path: Path) -> None:
    inbox, watches = Collected(), inotify.Watches()
    channels = [
        Channel(tmp_path / name, watches=watches, inbox=inbox) for name in ("removed", "other")
    ]
    # both at once, so that the word of both comes in one
    for channel in channels:
        (channel.directory / "_keyinfo.txt").write_text("hear this")
    shutil.rmtree(channels[0].directory)
    with anyio.fail_after(BOUND_S):
        while not inbox.texts:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    for channel in channels:
        channel.close()
