"""Which form is chosen, and what is said where there is no cgroup to be had."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Hierarchy
from hive_subagent.containment.run_cgroups import Delegation, find
from hive_subagent.errors import ConfigurationError, Refused

from .plain import PlainDirectories, plain_unit


@pytest.fixture
def identity() -> str:
    return secrets.token_hex(8)


def hand_over(unit: Path) -> None:
    try:
        os.setxattr(unit, "user.delegate", b"1")
    except OSError as error:
        pytest.skip(f"no user attributes on this file system: {error.strerror}")


def test_in_subgroup_supervisor_the_unit_is_ours_with_its_controllers(
    tmp_path: Path,
) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "cgroup.subtree_control").write_text("\n")

    found = find(hierarchy)

    assert isinstance(found, Delegation)
    assert found.unit.path == unit
    assert found.controllers == {"memory", "pids"}
    assert (unit / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_the_daemon_goes_before_its_runs_where_the_kernel_can_weigh(tmp_path: Path) -> None:
    """Issue 10, 17: with the weight of one run it missed its watchdog beside 24 that began."""
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "cgroup.controllers").write_text("cpu io memory pids\n")
    assert isinstance(find(hierarchy), Delegation)
    for name in ("cpu.weight", "io.weight"):
        assert (unit / "supervisor" / name).read_text() == "10000"
    for name in ("cpu.weight", "io.weight"):
        (unit / "supervisor" / name).unlink()
    assert isinstance(find(hierarchy), Delegation)
    assert not (unit / "supervisor" / "cpu.weight").exists()


def test_a_kernel_that_will_not_share_the_cpu_among_runs_is_no_hindrance(tmp_path: Path) -> None:
    """Real-time processes in the unit: it answers EINVAL, here to the first word written."""

    hierarchy, unit = plain_unit(tmp_path)
    (unit / "cgroup.controllers").write_text("cpu\n")
    (unit / "cgroup.subtree_control").unlink()
    (unit / "cgroup.subtree_control").mkdir()
    assert isinstance(find(hierarchy), Delegation)


@pytest.mark.parametrize(("limit", "kept"), [("max", 96 << 20), (str(200 << 20), 50 << 20)])
def test_the_daemons_own_memory_is_kept_for_it_at_the_limit_of_the_unit(
    tmp_path: Path, limit: str, kept: int
) -> None:
    """R15."""
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "memory.max").write_text(limit + "\n")
    find(hierarchy)
    assert (unit / "supervisor/memory.min").read_text() == str(kept)


def test_a_daemon_that_may_not_keep_memory_for_itself_does_without(tmp_path: Path) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "supervisor/memory.min").unlink()
    (unit / "supervisor/memory.min").mkdir()
    assert isinstance(find(hierarchy), Delegation)


def test_a_unit_that_was_handed_over_without_a_subgroup_gets_one(tmp_path: Path) -> None:
    hierarchy, unit = plain_unit(tmp_path, subgroup="")
    hand_over(unit)
    (unit / "cgroup.procs").write_text(f"{os.getpid()}\n")

    found = find(hierarchy)

    assert isinstance(found, Delegation)
    assert found.unit.path == unit
    assert (unit / "supervisor/cgroup.procs").read_text() == str(os.getpid())


def test_a_unit_with_other_processes_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    hierarchy, unit = plain_unit(tmp_path, subgroup="")
    hand_over(unit)
    (unit / "cgroup.procs").write_text(f"{os.getpid()}\n4242\n")

    assert find(hierarchy) == "/our.service holds other processes too (4242)"
    assert not (unit / "supervisor").exists()


def test_a_writable_cgroup_that_is_not_delegated_is_not_ours(tmp_path: Path) -> None:
    hierarchy, _ = plain_unit(tmp_path, subgroup="")
    assert find(hierarchy) == "the service manager has not delegated /our.service"


def test_without_cgroup_v2_there_is_nothing(tmp_path: Path) -> None:
    assert isinstance(find(Hierarchy(root=tmp_path, own="/nowhere")), str)


def test_a_cgroup_outside_the_namespace_is_not_ours(tmp_path: Path) -> None:
    found = find(Hierarchy(root=tmp_path, own="/../other.service/supervisor"))
    assert found == "the own cgroup lies outside the cgroup namespace"


def test_a_kernel_that_refuses_the_controllers_is_named(tmp_path: Path) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "cgroup.subtree_control").unlink()
    (unit / "cgroup.subtree_control").mkdir()
    assert find(hierarchy) == f"{unit}: Is a directory"


def test_a_limit_without_a_cgroup_is_refused_at_the_start(tmp_path: Path, identity: str) -> None:
    with pytest.raises(ConfigurationError, match="memory_max") as refusal:
        Containment.create(
            identity=identity, memory_max=1 << 30, hierarchy=Hierarchy(root=tmp_path, own="/")
        )
    assert "Delegate=yes" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_limit_without_the_memory_controller_is_refused_at_the_start(
    tmp_path: Path, identity: str
) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "cgroup.controllers").write_text("cpu pids\n")
    with pytest.raises(ConfigurationError, match="without the memory controller"):
        Containment.create(identity=identity, memory_max=1 << 30, hierarchy=hierarchy)
    assert Containment.create(identity=identity, hierarchy=hierarchy).kind == "cgroup"


def test_a_run_is_not_given_a_limit_that_nothing_holds(tmp_path: Path, identity: str) -> None:
    containment = Containment.create(
        identity=identity, hierarchy=Hierarchy(root=tmp_path, own="/nowhere")
    )
    assert containment.kind == "session"
    with pytest.raises(Refused, match="no cgroup can hold it"):
        containment.open("limited", memory_max=1 << 30)
    with pytest.raises(Refused, match='memory_max: ""`, which takes it away'):
        containment.open("limited", memory_max=1 << 30, keeps_limit=True)
    containment.open("limited").close()


def test_a_leaf_has_its_limits_before_anything_runs_in_it(tmp_path: Path, identity: str) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    containment = Containment.create(
        identity=identity, memory_max=512 << 20, pids_max=100, hierarchy=hierarchy
    )

    enclosure = containment.open("one")

    leaf = unit / "run-one"
    assert enclosure.kind == containment.kind == "cgroup"
    assert (leaf / "memory.max").read_text() == str(512 << 20)
    assert (leaf / "memory.swap.max").read_text() == "0"
    assert (leaf / "memory.oom.group").read_text() == "0"
    assert (leaf / "pids.max").read_text() == "100"
    enclosure.close()
    assert not leaf.exists()


def test_a_run_may_have_half_of_the_processes_that_the_unit_may_have(
    tmp_path: Path, identity: str
) -> None:
    """Else one that forks without end takes from the daemon what it needs to end it."""
    hierarchy, unit = plain_unit(tmp_path)
    (unit / "pids.max").write_text("1149\n")
    containment = Containment.create(identity=identity, hierarchy=hierarchy)
    containment.open("one")
    assert (unit / "run-one/pids.max").read_text() == "574"


def test_a_run_may_lower_the_limit_and_not_raise_it(tmp_path: Path, identity: str) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    containment = Containment.create(identity=identity, memory_max=512 << 20, hierarchy=hierarchy)

    containment.open("lower", memory_max=1 << 20)

    assert (unit / "run-lower/memory.max").read_text() == str(1 << 20)
    with pytest.raises(Refused, match="may only lower it") as refusal:
        containment.open("higher", memory_max=1 << 30)
    assert refusal.value.limit == 512 << 20, "issue 12, 10"
    with pytest.raises(Refused, match=r"from an earlier call.*or an empty one for the setting's"):
        containment.open("higher", memory_max=1 << 30, keeps_limit=True)
    assert not (unit / "run-higher").exists()


def test_without_a_limit_the_leaf_has_none(tmp_path: Path, identity: str) -> None:
    hierarchy, unit = plain_unit(tmp_path)
    Containment.create(identity=identity, hierarchy=hierarchy).open("free")
    assert (unit / "run-free/memory.max").read_text() == "max\n"


def test_a_kernel_without_swap_accounting_is_no_hindrance(tmp_path: Path, identity: str) -> None:
    class WithoutSwap(PlainDirectories):
        def make(self, path: Path) -> None:
            super().make(path)
            (path / "memory.swap.max").unlink()

    hierarchy, unit = plain_unit(tmp_path)
    hierarchy = Hierarchy(root=hierarchy.root, own=hierarchy.own, directories=WithoutSwap())
    containment = Containment.create(identity=identity, memory_max=1 << 20, hierarchy=hierarchy)
    containment.open("one")
    assert (unit / "run-one/memory.max").read_text() == str(1 << 20)


def test_a_limit_the_kernel_refuses_leaves_no_leaf_and_no_run(
    tmp_path: Path, identity: str
) -> None:
    class Refusing(PlainDirectories):
        def make(self, path: Path) -> None:
            super().make(path)
            (path / "memory.max").unlink()
            (path / "memory.max").mkdir()

    hierarchy, unit = plain_unit(tmp_path)
    hierarchy = Hierarchy(root=hierarchy.root, own=hierarchy.own, directories=Refusing())
    containment = Containment.create(identity=identity, memory_max=1 << 20, hierarchy=hierarchy)
    for _ in range(2):
        with pytest.raises(Refused, match="run-one: limits not taken"):
            containment.open("one")
    assert not (unit / "run-one").exists()


@pytest.mark.parametrize("name", ["", "a/b", "..", "a:b", "a\n", "x" * 101])
def test_a_run_id_cannot_name_another_directory(tmp_path: Path, identity: str, name: str) -> None:
    hierarchy, _ = plain_unit(tmp_path)
    with pytest.raises(ValueError, match="not a run id"):
        Containment.create(identity=identity, hierarchy=hierarchy).open(name)
