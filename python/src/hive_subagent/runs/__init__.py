"""Runs: turns, goal loops, names, what is kept of each session, and the words for it."""
