"""What can be wrong with a graph."""


class ParityError(Exception):
    """A graph strays from its torch network by more than its recipe allows."""
