"""Playback against an audio device that the test turns by hand."""

import importlib.util

import pytest

from antiphon_client.player import Callback, PlaybackError, Player


class HandCrankedDevice:
    """A device that asks for samples when the test says so."""

    def __init__(self) -> None:
        self.is_closed = False
        self.played = bytearray()
        self._callback: Callback | None = None

    def open(self, sample_rate_hz: int, callback: Callback) -> "HandCrankedDevice":
        """Takes the player's callback."""
        self._callback = callback
        return self

    def start(self) -> None:
        """Nothing runs by itself."""

    def close(self) -> None:
        """Notes it."""
        self.is_closed = True

    def turn(self, sample_count: int) -> bytes:
        """Plays the next samples."""
        assert self._callback is not None
        out = bytearray(2 * sample_count)
        self._callback(out, sample_count, None, None)
        return bytes(out)


@pytest.fixture
def device() -> HandCrankedDevice:
    """A device."""
    return HandCrankedDevice()


@pytest.fixture
def player(device: HandCrankedDevice) -> Player:
    """A player on it, at 1000 samples a second."""
    return Player(1000, device.open)


def test_chunks_are_played_in_order(player: Player, device: HandCrankedDevice) -> None:
    """The device gets the bytes as they came, however they are cut."""
    player.write(b"abcd")
    player.write(b"ef")

    assert [b"abcd", b"ef"] == [device.turn(2), device.turn(1)]
    assert (0, 0.0) == (player.gap_count, player.gap_s)


def test_silence_before_and_after_is_no_gap(player: Player, device: HandCrankedDevice) -> None:
    """Before the first chunk and after `end` there is silence, and nothing is late."""
    assert bytes(4) == device.turn(2)
    player.write(b"ab")
    player.end()

    assert b"ab\0\0" == device.turn(2)
    assert 0 == player.gap_count


def test_a_late_chunk_is_one_gap_however_long(player: Player, device: HandCrankedDevice) -> None:
    """Silence within an utterance is counted once until the next chunk, and its length is added up."""
    player.write(b"ab")
    device.turn(2)
    device.turn(3)
    player.write(b"cd")
    device.turn(2)

    assert 2 == player.gap_count
    assert pytest.approx(0.005) == player.gap_s


def test_clear_drops_what_was_not_played(player: Player, device: HandCrankedDevice) -> None:
    """Barge-in: the rest is gone, its length is known, and the silence is no gap."""
    player.write(bytes(2000))
    device.turn(250)

    assert 0.75 == player.clear()
    assert bytes(4) == device.turn(2)
    assert 0 == player.gap_count


async def test_drain_waits_as_long_as_the_audio_lasts(player: Player) -> None:
    """What is buffered is given the time to be played."""
    player.write(bytes(40))

    assert 0.02 == player.waiting_s
    await player.drain()


def test_close_gives_the_device_back(player: Player, device: HandCrankedDevice) -> None:
    """The stream is closed."""
    player.close()

    assert device.is_closed


def test_a_machine_without_sound_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the error names it and the way out."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(PlaybackError, match="pip install sounddevice"):
        Player(24000)
