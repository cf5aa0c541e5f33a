# agent: scout
"""systemd finds nothing wrong with the unit, and its score of exposure does not get worse."""

# 0 is a unit that may do nothing, 10 one that may do all; what the tools need costs the rest
LIMIT = 4.5

with subtest("systemd-analyze verify"):
    said = machine.succeed(f"systemd-analyze verify {UNIT} 2>&1")
    assert UNIT not in said, said

with subtest("systemd-analyze security"):
    table = machine.succeed(f"systemd-analyze security --no-pager {UNIT}")
    print(table)
    score = float(table.split("Overall exposure level for")[1].split(":")[1].split()[0])
    assert score <= LIMIT, score
