"""Containment: nothing that a run starts outlives it."""

from hive_subagent.containment.containment import Containment
from hive_subagent.containment.interface import Enclosure, Kind, Usage

__all__ = ["Containment", "Enclosure", "Kind", "Usage"]
