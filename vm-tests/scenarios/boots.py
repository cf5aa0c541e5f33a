# agent: scout
"""The unit is up, serves, and is the one that the module rendered."""

machine.wait_for_unit("hive-subagent-daemon")
print(machine.succeed("python3 /etc/hive-test/client.py health"))
print(machine.succeed("python3 /etc/hive-test/client.py call status"))
