"""The one error of a checkpoint that cannot be used."""


class CheckpointError(ValueError):
    """A file of a checkpoint is missing, damaged or not of Fish Speech 1.5; the message says which and what to do."""
