"""How claude is called: the flags that hold it to a permission, argv and environment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hive_subagent.claude.tools import ALWAYS_DENIED
from hive_subagent.claude.write_rules import WRITERS
from hive_subagent.permissions import READ_APPROVALS, PermissionMode, Permissions

_BASE_ENVIRONMENT = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LC_* LOCALE_ARCHIVE TZ TZDIR TERM TMPDIR XDG_* NIX_PATH
    NIX_SSL_CERT_FILE SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
    CLAUDE_CONFIG_DIR ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL
    CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX AWS_*
    GOOGLE_APPLICATION_CREDENTIALS CLOUD_ML_REGION ANTHROPIC_VERTEX_PROJECT_ID IS_SANDBOX
    """.split()  # noqa: SIM905  (one name a word reads better than 36 quoted ones)
)

_NO_PROXY = ("NO_PROXY", "no_proxy")
# set and blank, they make claude and shells take the working directory or / for a home
_NEVER_BLANK = ("CLAUDE_CONFIG_DIR", "HOME")

_SETTINGS = json.dumps(
    {
        # claude deletes transcripts older than 30 days when it starts; a hundred years keep ours
        "cleanupPeriodDays": 36500,
        # no session of this user writes into a run: 2.1.332 would hand the message to the model as
        # a teammate's request, and reopen a turn that has ended. 2.1.197 does not know the key
        "crossSessionInbound": "refuse",
    },
    separators=(",", ":"),
)


@dataclass(frozen=True)
class Invocation:
    """Everything that starting one claude process takes."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The values of claude's flags; `tools` None: its own set, `servers` None: all opted in.

    Which flags hold was measured with 2.1.197 and 2.1.332.
    """

    mode: PermissionMode
    tools: tuple[str, ...] | None
    denied: tuple[str, ...]
    approved: tuple[str, ...]
    servers: frozenset[str] | None
    directories: tuple[str, ...]


def flags_for(permissions: Permissions) -> Flags:
    """How claude is held to a permission."""
    mode, denied = permissions.mode, permissions.denied
    approved, servers = permissions.approved or frozenset(), permissions.servers
    if mode == "plan" and not permissions.beyond:
        # claude does not keep its plan mode within directories; this is as little, and kept
        mode, denied = "dontAsk", denied | WRITERS
        approved, servers = approved & READ_APPROVALS, frozenset()
    return Flags(
        mode=mode,
        tools=None if permissions.tools is None else tuple(sorted(permissions.tools)),
        denied=tuple(sorted(denied)),
        approved=tuple(sorted(approved)),
        servers=servers,
        directories=tuple(sorted(permissions.directories or ())),
    )


def build_argv(
    program: str,
    *,
    session_id: str | None = None,
    name: str | None = None,
    resume: str | None = None,
    brief: Path | None = None,
    model: str | None = None,
    mcp_config: Path | None = None,
    tools: Iterable[str] | None = None,
    disallowed_tools: Iterable[str] = (),
    allowed_tools: Iterable[str] = (),
    add_dirs: Iterable[str] = (),
    effort: str | None = None,
    permission_mode: PermissionMode = "bypassPermissions",
    setting_sources: str | None = None,
) -> tuple[str, ...]:
    """The argv of one run: a new session (`session_id`, `name`) or a resumed one (`resume`).

    `ALWAYS_DENIED` is denied beside `disallowed_tools`: it is no part of a session's permission.
    Every value is glued to its flag, so that one that begins with "-" cannot become a flag and a
    variadic flag cannot swallow what follows. The prompt is not here: it goes in on stdin.
    """
    argv = [program, "-p", "--verbose"]
    argv += ["--input-format=stream-json", "--output-format=stream-json"]
    argv += ["--replay-user-messages"]
    if resume is not None:
        argv.append(f"--resume={resume}")
    else:
        argv += [f"--session-id={session_id}", f"--name={name}"]
    if brief is not None:
        argv.append(f"--append-system-prompt-file={brief}")
    if model is not None:
        argv.append(f"--model={model}")
    argv += [f"--settings={_SETTINGS}", "--strict-mcp-config"]
    if mcp_config is not None:
        argv.append(f"--mcp-config={mcp_config}")
    if tools is not None:
        # empty: none at all
        argv.append(f"--tools={','.join(tools)}")
    denied = dict.fromkeys([*disallowed_tools, *ALWAYS_DENIED])
    argv.append(f"--disallowedTools={','.join(denied)}")
    if allowed := ",".join(allowed_tools):
        argv.append(f"--allowedTools={allowed}")
    argv += [f"--add-dir={directory}" for directory in add_dirs]
    if effort is not None:
        argv.append(f"--effort={effort}")
    if permission_mode == "bypassPermissions":
        # never beside another mode: the bypass beats it
        argv.append("--dangerously-skip-permissions")
    else:
        argv.append(f"--permission-mode={permission_mode}")
        # a project's own settings would raise the mode again
        setting_sources = ""
    if setting_sources is not None:
        argv.append(f"--setting-sources={setting_sources}")
    return tuple(argv)


def child_environment(
    parent: Mapping[str, str],
    *,
    config_dir: Path | None,
    further: Iterable[str] = (),
    direct: Iterable[str] = (),
) -> dict[str, str]:
    """The part of `parent` a child may see; `further` holds more names, globs allowed.

    `config_dir` is passed on as `CLAUDE_CONFIG_DIR`; None is for a daemon that was given none, and
    then the child gets none either: with the variable, claude looks for the login elsewhere.
    `direct` are hosts that a child reaches without its proxy: the address of the signals holds
    the run's token.
    """
    patterns = (*_BASE_ENVIRONMENT, *further)
    plain = {p for p in patterns if not any(c in p for c in "*?[")}
    globs = [p for p in patterns if p not in plain]
    child = {
        name: value
        for name, value in parent.items()
        if name in plain or any(fnmatchcase(name, g) for g in globs)
    }
    for name in _NEVER_BLANK:
        if name in child and not child[name].strip():
            del child[name]
    if config_dir is not None:
        child["CLAUDE_CONFIG_DIR"] = str(config_dir)
    return child | _without_proxy(child, direct)


def _without_proxy(child: Mapping[str, str], direct: Iterable[str]) -> dict[str, str]:
    """`NO_PROXY` and `no_proxy`: what the user excludes from the proxy, and `direct`."""
    given = [
        entry for name in _NO_PROXY for entry in re.split(r"[\s,]+", child.get(name, "")) if entry
    ]
    if set(given) == {"*"}:  # everything is excluded, which counts only where it stands alone
        return dict.fromkeys(_NO_PROXY, "*")
    merged = ",".join(dict.fromkeys([*given, *direct]))
    return dict.fromkeys(_NO_PROXY, merged) if merged else {}
