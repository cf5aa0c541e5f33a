"""Sessions and their runs: what is kept of them, how a run goes on, what an owner can ask."""
