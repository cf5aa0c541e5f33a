# What the faults use; see vm-tests/debian/driver/faults.py. They fail where nothing was planted.
set -euo pipefail
unit=hive-subagent-daemon.service

# drop_in LINE...: lines for the unit's section [Service]
drop_in() {
  mkdir -p "/run/systemd/system/$unit.d"
  { echo '[Service]'; printf '%s\n' "$@"; } >"/run/systemd/system/$unit.d/zz-fault.conf"
  systemctl daemon-reload
}

# restart: the daemon with what was planted
restart() { systemctl restart "$unit"; }

# patch OLD NEW: exchange a piece of our code, a fixed string that is there once
patch() { patch_all "$1" "$2" 1; }

# patch_all OLD NEW: the same, wherever it is
patch_all() {
  python3 - "$@" <<'P'
import pathlib, sys
old, new, *most = sys.argv[1:]
found = [path for path in pathlib.Path("/opt/hive-subagent/code").rglob("*.py") if old in path.read_text()]
count = sum(path.read_text().count(old) for path in found)
assert count and (not most or count == 1), (old, count)
for path in found:
    path.write_text(path.read_text().replace(old, new))
    # the compiled file is not compared with its source
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()
P
}

# setting KEY JSON [ROOT]: a setting in the daemon's file, of a container whose root is given; null
# removes it
setting() {
  python3 - "$1" "$2" "${3-}" <<'P'
import json, pathlib, sys
[path] = pathlib.Path(f"{sys.argv[3]}/nix/store").glob("*-hive-subagent.json")
settings = json.loads(path.read_text()) | {sys.argv[1]: json.loads(sys.argv[2])}
path.write_text(json.dumps({key: value for key, value in settings.items() if value is not None}))
P
}

# stray: a process of the agent's user that no run started
stray() { systemd-run --quiet --uid=agent --unit=stray sleep infinity; }
