"""The daemon's own environment: a blank variable counts as unset, an unknown one is reported."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

PREFIX = "HIVE_SUBAGENT_"

# of other programs of this distribution, or inherited by a daemon that runs inside a subagent
_OTHERS = {"RUN", "SOCKET", "TOKEN"}
_STUB = "STUB_"


def is_blank(value: object) -> bool:
    """Whether a value is a text without any visible character."""
    return isinstance(value, str) and not value.strip()


def first_set(environment: Mapping[str, str], *names: str) -> str | None:
    """The value of the first variable that is set and not blank; None when there is none."""
    return next(
        (environment[name] for name in names if not is_blank(environment.get(name, ""))), None
    )


def set_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are not blank."""
    return {name: value for name, value in environment.items() if not is_blank(value)}


def warnings(environment: Mapping[str, str], keys: Collection[str]) -> list[str]:
    """One line for each variable `HIVE_SUBAGENT_*` that has no effect.

    `keys` are the names of the settings. No line shows a value: it may be a secret.
    """
    known = {key.upper() for key in keys}
    lines = []
    for variable in sorted(environment):
        name = variable.upper()  # the names of settings are found in any case
        if not name.startswith(PREFIX):
            continue
        name = name.removeprefix(PREFIX)
        if name in known:
            if name == "SETTING_SOURCES" and is_blank(environment[variable]):
                lines.append(
                    f"{variable} is blank and counts as unset; to have claude read no settings,"
                    ' write "setting_sources": "" into the file of --config'
                )
        elif name not in _OTHERS and not name.startswith(_STUB):
            near = difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {PREFIX}{near[0]}?" if near else "remove it or correct its name"
            lines.append(f"{variable} is no setting and has no effect; {advice}")
    return lines
