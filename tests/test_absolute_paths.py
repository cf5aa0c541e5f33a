"""The scan of `make lint` for programs that are named by an absolute path (issue 11, 3)."""

from __future__ import annotations

import pytest
from absolute_paths import in_source


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = '/bin/sleep'", ["/bin/sleep"]),
        ("x = b'/bin/sleep\\x001'", ["/bin/sleep"]),
        ("x = f'( env -i /usr/bin/setsid {y} & )'", ["/usr/bin/setsid"]),
        ("x = '''\nos.execve(\"/usr/bin/sleep\", [], {})'''", ["/usr/bin/sleep"]),
        ("x = {'PATH': '/bin:/usr/bin'}", ["/bin", "/usr/bin"]),
        ("x = '#!/usr/local/bin/python3\\n'", ["/usr/local/bin/python3"]),
        ("x = '/sbin/ip'", ["/sbin/ip"]),
        ("x = '/usr/bin/env'; y = '/bin/sh'; z = '/usr/bin/env python3'", []),
        ("x = '/run/current-system/sw/bin/bash'; y = f'{root}/bin/claude'; z = '*/bin/x'", []),
        ("x = '/binary/x'; y = '/bin-x'", []),
        ("'''It lies in /usr/bin.'''\n# and /bin/bash", []),
    ],
)
def test_a_program_that_not_every_machine_has_there_is_found(source: str, found: list[str]) -> None:
    assert [path for _, path in in_source(source)] == found


def test_a_text_that_is_no_command_can_be_left_out() -> None:
    assert list(in_source("x = (\n    # not run here\n    '/bin/ls'\n)\n")) == []
    assert list(in_source("# not run here\n\nx = '/bin/ls'\n")) == [(3, "/bin/ls")]


def test_a_finding_names_the_line_of_the_path() -> None:
    assert list(in_source("x = 1\ny = '''\n\n/bin/ls\n'''\n")) == [(4, "/bin/ls")]
