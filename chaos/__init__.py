"""Random deaths, interrupts and crashes against real daemons, and what must be true after them."""
