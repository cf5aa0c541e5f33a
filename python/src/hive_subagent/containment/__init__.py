"""Containment: nothing that a run starts outlives it."""

from hive_subagent.containment.cgroup_delegation import Hierarchy
from hive_subagent.containment.containment import Containment
from hive_subagent.containment.interface import Enclosure, Kind, OomScope, Usage

__all__ = ["Containment", "Enclosure", "Hierarchy", "Kind", "OomScope", "Usage"]
