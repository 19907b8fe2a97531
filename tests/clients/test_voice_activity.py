"""The ear of the microphone demo."""

import math
import random
import struct

from antiphon_client.voice_activity import VoiceActivity

RATE_HZ = 16000
BLOCK = 320


def noise(amplitude: float, seed: int) -> bytes:
    """20 ms of noise."""
    draw = random.Random(seed)
    return struct.pack(f"<{BLOCK}h", *(round(draw.gauss(0, amplitude)) for _ in range(BLOCK)))


def voice(block: int) -> bytes:
    """20 ms of a tone as loud as somebody near the microphone."""
    tone = (8000 * math.sin(2 * math.pi * 200 * (block * BLOCK + i) / RATE_HZ) for i in range(BLOCK))
    return struct.pack(f"<{BLOCK}h", *map(round, tone))


def test_noise_is_no_voice() -> None:
    """Ten seconds of an ordinary room stay quiet."""
    activity = VoiceActivity()

    assert not any(activity.hears_voice(noise(30, i), RATE_HZ) for i in range(500))


def test_a_voice_is_heard_within_its_onset() -> None:
    """A voice in a quiet room is heard after 120 ms, not at its first block."""
    activity = VoiceActivity()
    for i in range(50):
        activity.hears_voice(noise(30, i), RATE_HZ)
    heard = [activity.hears_voice(voice(i), RATE_HZ) for i in range(10)]

    assert [False] * 5 == heard[:5]
    assert heard[7]


def test_a_click_is_no_voice() -> None:
    """A loud block by itself is too short."""
    activity = VoiceActivity()
    blocks = [noise(30, i) for i in range(50)]
    blocks[25] = voice(0)

    assert not any(activity.hears_voice(block, RATE_HZ) for block in blocks)


def test_a_loud_room_is_learned() -> None:
    """A fan that starts is heard at first and then belongs to the room."""
    activity = VoiceActivity()
    for i in range(50):
        activity.hears_voice(noise(30, i), RATE_HZ)
    for i in range(300):
        activity.hears_voice(noise(600, i), RATE_HZ)

    assert not activity.hears_voice(noise(600, 1), RATE_HZ)


def test_digital_silence_is_quiet() -> None:
    """Zeros have a level too."""
    assert not VoiceActivity().hears_voice(bytes(2 * BLOCK), RATE_HZ)
