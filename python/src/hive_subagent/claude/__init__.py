"""Everything known about the `claude` command line, and nothing else."""
