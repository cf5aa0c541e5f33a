"""What can go wrong, in two kinds: the scenario's expectation, or the machine itself."""


class MachineError(Exception):
    """The machine or the emulator does not do what it must; says nothing of what is tested."""


class ExpectationFailed(Exception):
    """Something the scenario asked for did not come true."""
