# agent: scout
"""Power fails amid writes: what was answered is reported, and no file is torn. R17; issue 10, 4.

The emulator keeps whatever the machine has written to its disk and loses what is still in memory,
as a disk without a cache of its own does. The kernel writes nothing by itself here, and ext4 does
not flush a file that replaces another, so only what was flushed on purpose is there afterwards.
"""


def write_nothing_unasked():
    machine.succeed("mount -o remount,commit=300,noauto_da_alloc /")
    machine.succeed("sync; sysctl -q vm.dirty_writeback_centisecs=0")


def lose_power():
    machine.crash()
    machine.start()
    machine.wait_for_unit(UNIT)
    torn = machine.succeed(f"find {STATE} -type f -empty -o -name '*.broken'")
    assert torn == "", torn
    health = json.loads(machine.succeed(f"{CLIENT} health"))
    assert (health["set_aside"], health["unread"]) == (0, 0), health


with subtest("right after a start was answered"):
    write_nothing_unasked()
    start("worker", {"hang": True})
    lose_power()
    [notice] = notices("worker")
    assert notice["kind"] == "killed", notice
    now = session("worker")
    assert (now["state"], now["cause"]) == ("killed", "daemon_stop"), now

with subtest("right after an ending was told"):
    write_nothing_unasked()
    start("quick", {"text": "the answer"})
    assert ended("quick")["result"] == "the answer"
    machine.wait_until_succeeds(f"! ls {STATE}/owed/*.json", timeout=60)
    lose_power()
    [notice] = notices("quick")
    assert (notice["kind"], "the answer" in notice["text"]) == ("finished", True), notice
    assert session("quick")["result"] == "the answer"
    # each is still what it was after the cut before
    assert session("worker")["state"] == "killed"

with subtest("while runs begin and end"):
    write_nothing_unasked()
    quick, endless = brief("b-quick", {"text": "done"}), brief("b-endless", {"hang": True})
    machine.succeed(
        "(set +e; for n in $(seq 40); do"
        f" test $((n % 2)) = 0 && file={quick} || file={endless};"
        f' {CLIENT} call start "{{\\"name\\": \\"storm-$n\\", \\"prompt_file\\": \\"$file\\"}}"'
        ' && echo "answered storm-$n" >/dev/ttyS0;'
        " done) >/dev/null 2>&1 &"
    )
    machine.wait_for_console_text("answered storm-6")
    lose_power()
    for number in range(1, 7):
        name = f"storm-{number}"
        [notice] = notices(name)
        assert notice["kind"] in (("killed",) if number % 2 else ("killed", "finished")), notice
        told = {"killed": "killed", "finished": "turn_ended"}[notice["kind"]]
        assert session(name)["stop_reason"] == told, (notice, session(name))
