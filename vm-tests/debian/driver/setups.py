"""What a scenario is played with: one agent on the machine, or several in containers of their own.

The containers are started as NixOS's module `containers` starts them: same root directories, names
of units, delegation and options of systemd-nspawn, the network namespace shared with the machine.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from .install import UNIT, Install
from .machine import Machine

HEAD = re.compile(r"# (agent|containers): ([a-z]+(?: [a-z]+)*)\n")
ROOTS = "/var/lib/nixos-containers"
CONTAINER_UNIT = f"""\
[Unit]
Description=Container %i

[Service]
Type=notify
ExecStart=systemd-nspawn --keep-unit --machine=%i --directory={ROOTS}/%i --notify-ready=yes \
--kill-signal=SIGRTMIN+3 --link-journal=try-guest --bind-ro=/usr --bind-ro=/opt \
/usr/lib/systemd/systemd
Environment=SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
Slice=machine.slice
Delegate=yes
KillMode=mixed
KillSignal=SIGTERM
RestartForceExitStatus=133
SuccessExitStatus=133
DevicePolicy=closed
"""
# a root whose programs are the machine's; NixOS's containers share the store in the same way
MAKE_ROOT = """\
mkdir -p {root} && cd {root}
mkdir -p dev proc sys run tmp usr opt nix/store home root var/lib/secrets var/log/journal var/tmp
chmod 1777 tmp var/tmp
chmod 700 root var/lib/secrets
cp -a /bin /sbin /lib /lib64 .
cp -a /etc .
cp -a /home/agent home
rm -f etc/systemd/system/backdoor.service etc/systemd/system/*.wants/backdoor.service
echo {name} >etc/hostname
: >etc/machine-id
"""


@dataclass(frozen=True)
class Setup:
    """The example agents (tests/nix/agents) of a scenario, and where each of them runs."""

    agents: tuple[str, ...]
    in_containers: bool

    @classmethod
    def of(cls, scenario: Path) -> Setup:
        """As the scenario's first line says."""
        found = HEAD.match(scenario.read_text())
        assert found, f"{scenario}: the first line must be `# agent: NAME` or `# containers: NAMES`"
        agents = tuple(found[2].split())
        assert found[1] == "containers" or len(agents) == 1, f"{scenario}: one agent on the machine"
        return cls(agents, found[1] == "containers")

    @property
    def name(self) -> str:
        """Its name in snapshots and messages."""
        return ("containers-" if self.in_containers else "agent-") + "+".join(self.agents)

    @property
    def units(self) -> list[str]:
        """The units of the machine that are active when everything serves."""
        if not self.in_containers:
            return [UNIT]
        return [f"container@{agent}.service" for agent in self.agents]

    def key(self, install: Install) -> str:
        """Changes with anything that `start` would install."""
        return "".join(install.key(agent) for agent in self.agents)

    def start(self, machine: Machine, install: Install) -> None:
        """Install everything on a machine and start the units."""
        machine.unpack(install.code())
        for agent in self.agents:
            if self.in_containers:
                root = f"{ROOTS}/{agent}"
                machine.succeed(MAKE_ROOT.format(root=root, name=agent))
                machine.unpack(install.files(agent), root)
                # the container sees the machine's /usr
                machine.succeed(f"cp -a {root}/usr/bin/. /usr/bin")
            else:
                machine.unpack(install.files(agent))
        if self.in_containers:
            path = "/etc/systemd/system/container@.service"
            machine.succeed(f"printf %s {shlex.quote(CONTAINER_UNIT)} >{path}")
        machine.succeed("systemctl daemon-reload")
        for unit in self.units:
            status, _ = machine.execute(f"systemctl start {unit}")
            if status != 0:
                machine.report(unit)
                machine.succeed("false")
        for agent in self.agents:
            root = f"{ROOTS}/{agent}" if self.in_containers else ""
            booted = machine.succeed(f"cat {root}/etc/systemd/system/{UNIT}")
            assert booted == install.unit(agent), "the unit booted is another"
        # whatever runs once after a start has run
        machine.succeed("python3 /usr/bin/lookup-mcp </dev/null")
