# agent: scout
"""The machine loses power in the middle of a turn: after the next boot the run is told of. R17."""

start("worker", {"hang": True})
machine.succeed("sync")
machine.crash()
machine.start()
machine.wait_for_unit(UNIT)

[notice] = notices("worker")
assert notice["kind"] == "killed", notice
now = session("worker")
assert (now["state"], now["cause"]) == ("killed", "daemon_stop"), now
