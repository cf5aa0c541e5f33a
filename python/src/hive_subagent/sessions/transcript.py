"""The operation behind `transcript`: a page of what claude has written down of a session."""

from __future__ import annotations

from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.claude.transcript_entries import Page, read_page
from hive_subagent.errors import Refused
from hive_subagent.messages import transcript as wording
from hive_subagent.models.session import SessionView
from hive_subagent.models.transcript import TranscriptEntry, TranscriptReply
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.private_files import reason_of
from hive_subagent.system.sanitize import on_one_line

LAST = 20
"""Entries of a page, where none are asked for."""

LONGEST_SEARCH = 1_000


async def read(
    config_dir: Path,
    view: SessionView,
    *,
    last: int = LAST,
    before: int | None = None,
    search: str | None = None,
) -> tuple[TranscriptReply, str]:
    """A page of the session's transcript, and its text. Raises Refused."""
    _check(last, before, search)
    found = await in_thread(
        _read, config_dir, view, last, before, search, what=f"transcript of `{view.name}`"
    )
    entries = [
        TranscriptEntry(
            position=entry.position,
            at=None if entry.at is None else on_one_line(entry.at),
            turn=entry.turn,
            kind=entry.kind,
            text=(text := wording.cut(entry.kind, entry.text, len(found.entries))),
            tool=entry.tool,
            truncated=entry.cut or text.endswith("…") != entry.text.endswith("…"),
        )
        for entry in found.entries
    ]
    kept = wording.fitting(entries)
    earlier = found.earlier or len(kept) < len(entries)
    further = kept[0].position if kept and earlier else None
    reply = TranscriptReply(
        name=view.name, session_id=view.session_id, entries=kept, before=further
    )
    return reply, wording.page(view.name, kept, before=further, asked_before=before, search=search)


def _check(last: int, before: int | None, search: str | None) -> None:
    if not 1 <= last <= wording.MOST:
        raise Refused(
            f"last {last} is out of range: give 1 to {wording.MOST}, and `before` for earlier ones",
            name="last",
            limit=wording.MOST,
        )
    if before is not None and before < 0:
        raise Refused(
            f"before {before} is no position: give one that an answer has named", name="before"
        )
    if search is not None and len(search) > LONGEST_SEARCH:
        raise Refused(
            f"search is over {LONGEST_SEARCH} characters: search for a part of it",
            name="search",
            limit=LONGEST_SEARCH,
        )


def _read(
    config_dir: Path, view: SessionView, last: int, before: int | None, search: str | None
) -> Page:
    place = (config_dir, view.dir, view.session_id)
    file = transcripts.find(*place) or transcripts.find_archived(*place)
    if file is None:
        raise Refused(
            f"claude has no transcript of `{view.name}`: it is made with the first message of a"
            " run, and somebody may have removed it since",
            kind="not_found",
            name=view.name,
        )
    try:
        return read_page(config_dir, file, last=last, before=before, search=search)
    except OSError as error:
        raise Refused(
            f"the transcript of `{view.name}` cannot be read: {reason_of(error)}; look at {file}",
            kind="unavailable",
            name=view.name,
            path=file,
        ) from None
