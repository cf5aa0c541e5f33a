# agent: scout
"""SIGHUP and SIGQUIT end the daemon cleanly, and systemd starts it again. Issue 9, 18."""

for count, number in enumerate(("HUP", "QUIT"), start=1):
    with subtest(f"kill -{number} of the daemon"):
        start(f"worker-{count}", {"hang": True}, goal="never", max_turns=9)
        daemon = main_pid()
        machine.succeed(f"kill -{number} {daemon}")
        wait_for_another(daemon)
        assert machine.get_unit_property(UNIT, "NRestarts") == str(count)

    with subtest("the run was ended, and that was reported"):
        [notice] = notices(f"worker-{count}")
        assert notice["kind"] == "killed", notice
        assert machine.succeed(AGENTS).split() == [str(main_pid())]
