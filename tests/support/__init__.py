"""What several folders of tests share: a daemon as a process, its world, the stub's scripts."""
