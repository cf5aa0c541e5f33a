"""Nothing a child starts outlives it: process trees, cgroups, memory."""
