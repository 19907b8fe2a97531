"""Recordings that arrive are bounded, each one and all together, and give their room back."""

import pytest

from server.errors import OutOfRangeError, ServerFullError
from server.recordings import Recordings


def test_parts_add_up() -> None:
    """What came is there in order, up to the limit."""
    recordings = Recordings(max_bytes=10, max_total_bytes=30)
    with recordings.begin() as recording:
        recording.add(b"abcde")
        recording.add(b"fghij")
        assert recording.content == b"abcdefghij"
        with pytest.raises(OutOfRangeError, match="a part of 1 bytes and has 11 so far"):
            recording.add(b"k")


def test_a_part_is_bounded_too() -> None:
    """Above a megabyte it is refused, whatever the recording may have."""
    with Recordings(1 << 30, 1 << 30).begin() as recording, pytest.raises(OutOfRangeError, match="may have 1048576"):
        recording.add(bytes((1 << 20) + 1))


def test_all_recordings_share_a_bound() -> None:
    """Who comes when others take the room is told to come again; room comes back also after an error."""
    recordings = Recordings(max_bytes=10, max_total_bytes=15)
    with recordings.begin() as first, recordings.begin() as second:
        first.add(bytes(10))
        with pytest.raises(ServerFullError) as refused:
            second.add(bytes(6))
        assert refused.value.retry_after_s > 0
        second.add(bytes(5))
    with recordings.begin() as recording:
        recording.add(bytes(10))
        with pytest.raises(OutOfRangeError):
            recording.add(bytes(1))
    with recordings.begin() as first, recordings.begin() as second:
        first.add(bytes(10))
        second.add(bytes(5))
