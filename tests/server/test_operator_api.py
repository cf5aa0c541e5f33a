"""The operator API over its socket: the service methods of the tools, as JSON (issue 13, 1)."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
import pytest
from support import api, processes
from support.daemon import Daemon
from support.stub import HANG, bash, script, text

PARTS = {"message", "kind", "name", "path", "limit"}


def client(daemon: Daemon) -> api.Client:
    return api.client(daemon.runtime_dir)


def without_ages(session: dict[str, Any]) -> dict[str, Any]:
    """A session object without what changes between two looks at it."""
    changing = ("age_s", "last_event_age_s", "cpu_s", "cpu_since_event_s", "processes", "text")
    return {key: value for key, value in session.items() if key not in changing}


async def test_a_session_has_the_shape_and_the_text_of_the_tool(daemon: Daemon) -> None:
    """Issue 13, 1: no second truth, while it runs and after that."""
    name = await daemon.begin(script(HANG))
    tool_answer = await daemon.call("status", name=name)
    found = client(daemon).get(f"/sessions/{name}")
    assert without_ages(found) == without_ages(tool_answer.data)
    assert found["age_s"] > 0
    await daemon.must("interrupt", name=name)
    tool_answer = await daemon.call("status", name=name)
    found = client(daemon).get(f"/sessions/{name}")
    assert found == tool_answer.data
    assert found["text"] == tool_answer.text
    assert (found["age_s"], found["ended_at"] is not None) == (None, True)


async def test_a_run_from_start_to_its_answer_and_on(daemon: Daemon) -> None:
    """Issue 13, 1: start, wait and continue, each as its tool."""
    name, called = daemon.name(), client(daemon)
    begun = called.post("/sessions", name=name, prompt=script(text("done it")))
    assert {"name", "session_id", "dir", "pid", "archived", "previous", "text"} == set(begun)
    waited = called.post(f"/sessions/{name}/wait", timeout_s=60)
    assert waited["done"] is True
    assert waited["sessions"][0]["result"] == "done it"
    again = called.post(f"/sessions/{name}/continue", prompt="more")
    assert again["session_id"] == begun["session_id"]
    assert called.post("/wait", names=[name], until="any")["done"] is True
    notice = await daemon.notice(name, count=2)
    assert notice["kind"] == "finished"


async def test_the_list_has_unfinished_ones_first_and_long_words_in_short(daemon: Daemon) -> None:
    """Issue 13, 1: a list for programs leaves nothing out for the size of a model's answer."""
    called = client(daemon)
    ended = await daemon.begin(script(text("x" * 7000)))
    await daemon.ended(ended)
    running = await daemon.begin(script(HANG))
    found = called.get("/sessions")
    names = [session["name"] for session in found["sessions"]]
    assert names.index(running) == 0
    assert (found["running"], found["queued"], found["max_running"]) == (1, 0, 64)
    of_ended = found["sessions"][names.index(ended)]
    assert (len(of_ended["result"]), of_ended["result_cut"]) == (200, True)
    assert [s["name"] for s in called.get("/sessions?ended=false")["sessions"]] == [running]
    short = called.get("/sessions?limit=1")
    assert ([s["name"] for s in short["sessions"]], short["left_out"]) == (
        [running],
        len(names) - 1,
    )
    await daemon.must("interrupt", name=running)


async def test_a_run_is_told_something_and_interrupted(daemon: Daemon) -> None:
    """Issue 13, 1."""
    name, called = await daemon.begin(script(HANG)), client(daemon)
    receipt = called.post(f"/sessions/{name}/intervene", kind="info", text="the build is green")
    assert (receipt["name"], receipt["kind"]) == (name, "info")
    over = called.post(f"/sessions/{name}/interrupt", force=True)
    assert (over["forced"], over["ended"]) == (True, True)
    assert called.get(f"/sessions/{name}")["state"] == "killed"


async def test_a_delegation_is_begun_listed_waited_for_and_cancelled(daemon: Daemon) -> None:
    """Issue 13, 1: an id of a delegation goes where the tools take one."""
    called = client(daemon)
    tasks = [{"task": script(HANG), "role": "scout"}, {"task": "look", "role": "scout"}]
    begun = called.post("/delegations", tasks=tasks)
    id = begun["delegation"]
    assert len(begun["names"]) == 2
    listed = {one["delegation"]: one for one in called.get("/delegations")["delegations"]}
    assert (listed[id]["over"], [s["name"] for s in listed[id]["sessions"]]) == (
        False,
        begun["names"],
    )
    whole = called.get(f"/delegations/{id}")
    assert [s["delegation"] for s in whole["sessions"]] == [id, id]
    assert called.post(f"/sessions/{id}/wait", timeout_s=0)["done"] is False
    called.post(f"/sessions/{id}/interrupt")
    assert called.post(f"/sessions/{id}/wait")["done"] is True
    assert called.refused("POST", f"/sessions/{id}/interrupt")[0] == 409


async def test_output_is_followed_by_its_offset(daemon: Daemon) -> None:
    """Issue 13, 1: parts that follow each other are the file, whatever their size."""
    called = client(daemon)
    name = await daemon.begin(script(bash("true"), text("größer ja")))
    await daemon.ended(name)
    whole = called.get(f"/sessions/{name}/output")
    assert "says: größer ja" in whole["output"]
    assert whole["next_offset"] == whole["size"] == len(whole["output"].encode())
    parts, offset = [], 0
    while offset < whole["size"]:
        part = called.get(f"/sessions/{name}/output?offset={offset}&limit=7")
        assert part["offset"] == offset
        parts.append(part["output"])
        offset = part["next_offset"]
    assert "".join(parts) == whole["output"]
    assert called.get(f"/sessions/{name}/output?offset={offset}")["output"] == ""
    tail = called.get(f"/sessions/{name}/output?offset=-20")
    assert tail["output"] == "" or whole["output"].endswith("\n" + tail["output"])
    anew = called.get(f"/sessions/{name}/output?offset={offset + 1}")
    assert (anew["began_anew"], anew["output"]) == (True, whole["output"])


def test_output_that_is_no_file_is_refused(daemon: Daemon) -> None:
    """Issue 13, 1: a subagent can put a link to anything in its place."""
    folder = daemon.runtime_dir / "channels" / "planted"
    folder.mkdir()
    (folder / "output.txt").symlink_to(daemon.root / "config.json")
    status, error = client(daemon).refused("GET", "/sessions/planted/output")
    assert (status, error["kind"]) == (424, "failed")
    for path in ("/sessions/..%2f..%2fstate/output", "/sessions/%2e%2e/output"):
        reply = client(daemon).request("GET", path)
        assert reply.status in (404, 422), reply


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind", "name"),
    [
        ("GET", "/sessions/unheard-of", None, 404, "not_found", "unheard-of"),
        ("GET", "/sessions/unheard-of/output", None, 404, "not_found", "unheard-of"),
        ("GET", "/delegations/d:00000000", None, 404, "not_found", "d:00000000"),
        ("GET", "/sessions/Not_a_name", None, 422, "invalid", "Not_a_name"),
        ("GET", "/sessions?limit=0", None, 422, "invalid", "limit"),
        ("GET", "/sessions?lmit=3", None, 422, "invalid", "lmit"),
        ("POST", "/sessions", {"prompt": "x"}, 422, "invalid", "name"),
        ("POST", "/sessions", {"name": "a", "promt": "x"}, 422, "invalid", "promt"),
        ("POST", "/sessions", {"name": "a"}, 422, "invalid", "prompt"),
        ("POST", "/sessions", {"name": "a", "prompt": "x", "dir": "/none"}, 422, "invalid", "dir"),
        ("POST", "/sessions/a/continue", {"name": "b", "prompt": "x"}, 422, "invalid", "name"),
        ("POST", "/sessions/a/intervene", {"kind": "info", "text": "x"}, 409, "conflict", "a"),
        ("POST", "/sessions/a/intervene", {"kind": "nod", "text": "x"}, 422, "invalid", "kind"),
        ("POST", "/sessions/a/wait", {"timeout_s": -1}, 422, "invalid", "timeout_s"),
        ("POST", "/wait", {"names": []}, 422, "invalid", "names"),
        ("POST", "/delegations", {"tasks": []}, 422, "invalid", "tasks"),
        (
            "POST",
            "/delegations",
            {"tasks": [{"task": "x", "role": "nobody"}]},
            422,
            "invalid",
            "role",
        ),
        ("POST", "/sessions", b"{", 422, "invalid", None),
        ("POST", "/sessions", b"[]", 422, "invalid", None),
        ("POST", "/sessions", b"[" * 100_000, 422, "invalid", None),
        ("GET", "/nothing", None, 404, "http", None),
        ("DELETE", "/sessions", None, 405, "http", None),
    ],
)
def test_a_refusal_has_its_status_its_kind_and_what_it_is_about(
    daemon: Daemon, method: str, path: str, body: object, status: int, kind: str, name: str | None
) -> None:
    """Issue 13, 1."""
    got, error = client(daemon).refused(method, path, body)
    assert (got, error["kind"], error.get("name")) == (status, kind, name)
    assert set(error) <= PARTS
    assert error["message"]
    assert "\n" not in error["message"]


async def test_a_refusal_is_the_sentence_of_the_tool(daemon: Daemon) -> None:
    """Issue 13, 1."""
    name, called = await daemon.begin(script(HANG)), client(daemon)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("start", "/sessions", {"name": name, "prompt": "x"}),
        ("start", "/sessions", {"name": "", "prompt": "x"}),
        ("start", "/sessions", {"name": "b", "prompt": "x", "max_turns": 2}),
        ("start", "/sessions", {"name": "b", "prompt": "x", "max_turns": "several"}),
        ("wait", "/wait", {"names": ["unheard-of"]}),
    ]
    for tool_name, path, given in calls:
        said = await daemon.refused(tool_name, **given)
        status, error = called.refused("POST", path, given)
        assert (error["message"], status >= 400) == (said, True)
    taken, _ = called.refused("POST", "/sessions", {"name": name, "prompt": "x"})
    assert taken == 409
    await daemon.must("interrupt", name=name)


async def test_the_limit_of_running_ones_is_429_and_named(world: Daemon) -> None:
    """Issue 13, 1."""
    world.settings["max_running"] = 1
    world.start()
    name = await world.begin(script(HANG))
    status, error = client(world).refused("POST", "/sessions", {"name": "b", "prompt": "x"})
    assert (status, error["kind"], error["name"], error["limit"]) == (
        429,
        "limit",
        "max_running",
        1,
    )
    await world.must("interrupt", name=name)


async def test_a_claude_that_does_not_start_is_424(world: Daemon) -> None:
    """Issue 13, 1: the request was right, the daemon could not do it."""
    world.settings["claude_bin"] = "no-such-claude"
    world.start()
    status, error = client(world).refused("POST", "/sessions", {"name": "b", "prompt": "x"})
    assert (status, error["kind"], error["name"]) == (424, "failed", "claude_bin")


async def test_a_caller_of_wait_that_hangs_up_ends_its_call_and_no_run(daemon: Daemon) -> None:
    """Issue 13, 1: decision 9."""
    called = client(daemon)
    name = await daemon.begin(script(HANG))
    before = called.request("GET", "/healthz", prefix="").json["tasks"]
    connection = api.UnixConnection(called.socket)
    connection.request("POST", f"{api.PREFIX}/sessions/{name}/wait", b'{"timeout_s": 3600}')

    def tasks() -> int:
        found: int = called.request("GET", "/healthz", prefix="").json["tasks"]
        return found

    await processes.until(lambda: tasks() > before, "the wait to be under way")
    connection.close()
    await processes.until(lambda: tasks() <= before, "the wait to be over")
    assert called.get(f"/sessions/{name}")["state"] == "running"
    await daemon.must("interrupt", name=name)


async def test_a_wait_is_answered_while_others_are_served(daemon: Daemon) -> None:
    """Issue 13, 1."""
    called = client(daemon)
    name = await daemon.begin(script(HANG))
    answers: list[Any] = []

    async def wait() -> None:
        answers.append(
            await anyio.to_thread.run_sync(lambda: called.post(f"/sessions/{name}/wait"))
        )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        assert called.get("/sessions")["running"] == 1
        await daemon.must("interrupt", name=name)
    assert answers[0]["sessions"][0]["state"] == "killed"


def test_a_body_beyond_the_bound_is_refused_as_json(daemon: Daemon) -> None:
    """Issue 13, 1."""
    headers = {"Content-Length": str(21 * 1024 * 1024)}
    reply = client(daemon).request("POST", "/sessions", b"{}", headers)
    assert (reply.status, reply.error["kind"]) == (413, "http")
