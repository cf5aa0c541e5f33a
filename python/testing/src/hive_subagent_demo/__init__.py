"""The main job, to be watched: three subagents, three different endings."""
