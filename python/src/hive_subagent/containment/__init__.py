"""Containment: nothing that a run starts outlives it."""

from hive_subagent.containment.containment import Containment
from hive_subagent.containment.interface import Enclosure, Kind, OomScope, ProcessInfo, Usage
from hive_subagent.containment.run_cgroups import Hierarchy

__all__ = ["Containment", "Enclosure", "Hierarchy", "Kind", "OomScope", "ProcessInfo", "Usage"]
