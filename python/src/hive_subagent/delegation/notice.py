"""The one notice of a delegation, as text and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hive_subagent.claude import transcripts
from hive_subagent.messages.delegations import Section, over
from hive_subagent.models.notices import Notice, NoticeChild
from hive_subagent.models.session import Cause, WaitPolicy
from hive_subagent.sessions.ending import child_end
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.sessions.view import ended_view


@dataclass(frozen=True)
class EndedChild:
    """A child whose run has ended. `further` are sentences that stand in the notice alone."""

    record: SessionRecord
    further: tuple[str, ...] = ()


def notice(
    notice_id: str,
    delegation: str,
    ended: Sequence[EndedChild],
    *,
    policy: WaitPolicy,
    cause: Cause | None,
    config_dir: Path,
    at: str,
) -> Notice:
    """The notice. `cause` is that of a stop of the whole, if there was one."""
    sections = [_section(each, config_dir) for each in ended]
    return Notice(
        id=notice_id,
        name=delegation,
        session_id="",
        kind="delegation",
        text=over(delegation, sections, policy=policy, cause=cause),
        report_file=None,
        at=at,
        children=[each.child for each in sections],
    )


def _section(ended: EndedChild, config_dir: Path) -> Section:
    child = _child(ended.record, config_dir)
    view = ended_view(ended.record).model_copy(update={"transcript": child.transcript})
    return Section(child, view, ended.further)


def _child(record: SessionRecord, config_dir: Path) -> NoticeChild:
    ending = record.ending
    assert ending is not None
    place = (config_dir, record.dir, record.session_id)
    # a later session of its name may have put it away
    found = transcripts.find(*place) or transcripts.find_archived(*place)
    return NoticeChild(
        name=record.name,
        role=record.role or "",
        session_id=record.session_id,
        dir=record.dir,
        end=child_end(ending.reason),
        state=ending.state,
        stop_reason=ending.stop_reason,
        cause=ending.cause,
        signal=ending.signal,
        message=ending.message,
        result=ending.result,
        result_cut=ending.result_cut,
        result_file=ending.result_file,
        last_text=ending.last_text,
        transcript=str(found) if found else None,
        cost_usd=ending.cost_usd,
    )
