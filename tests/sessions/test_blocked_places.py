"""Places that take nothing: refused before anything is lost, with the place named."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.house import House, house
from support.refusals import refused
from support.stub import script, text

from hive_subagent.claude import transcripts
from hive_subagent.errors import Refused
from hive_subagent.sessions.options import Options


async def test_a_configuration_folder_that_takes_no_sessions_is_named(tmp_path: Path) -> None:
    """R24: claude would run, succeed and save nothing."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    async with house(tmp_path, claude_config_dir=blocked) as home:
        match = f"claude cannot save sessions in {blocked}"
        await refused(home, home.service.start("agent", home.brief()), match)
        await refused(home, home.service.continue_("agent", "go on"), match)
    async with house(tmp_path) as home:
        first = await home.run(script(text("x")))
        await home.notices(1)  # its delivery writes, too
        folder = transcripts.transcript_path(
            tmp_path / "claude", tmp_path / "work", first.session_id
        ).parent
        folder.rename(tmp_path / "away")
        folder.write_text("a file where the folder should be")
        match = f"claude cannot save sessions in {folder}"
        await refused(home, home.service.continue_("agent", "go on"), match)


@pytest.mark.parametrize("blocked", ["names/agent", "sessions"])
async def test_a_state_directory_that_takes_no_record_refuses_and_loses_nothing(
    home: House, blocked: str
) -> None:
    """The session before is neither archived nor forgotten, and no notice is owed."""
    first = await home.run(script(text("first")))
    place = home.root / "state" / blocked
    place.rename(home.root / "away")
    if blocked == "sessions":
        place.write_text("in the way")
    else:
        (place / "in the way").mkdir(parents=True)
    with pytest.raises(Refused, match=str(place)) as caught:
        await home.service.start("agent", home.brief())
    assert len(str(caught.value).splitlines()) == 1
    assert (await home.ended()).session_id == first.session_id
    if blocked == "sessions":
        place.unlink()
    else:
        (place / "in the way").rmdir()
        place.rmdir()
    (home.root / "away").rename(place)
    await home.service.continue_("agent", script(text("second")))
    assert (await home.ended()).session_id == first.session_id
    await home.notices(2)


async def test_a_runtime_directory_that_is_gone_refuses_a_goal(home: House) -> None:
    (home.root / "run" / "mcp").rmdir()
    call = home.service.start("agent", home.brief(), options=Options(goal="g"))
    await refused(home, call, "run/mcp cannot be written: No such file")
    assert (await home.run(script(text("without")))).result == "without"
