"""What can go wrong when a bundle is made. Each message says what was wrong and what to do."""


class CheckpointError(ValueError):
    """A file of a checkpoint is missing, damaged or of another network."""


class ParityError(Exception):
    """A graph strays from its torch network by more than its recipe allows."""
