"""A recording as a file -> samples: wav, flac, ogg and mp3, known by their first bytes, whole or refused.

Decoders make do with a file that is cut off. A voice made of half a recording would have the whole transcript, so what
a file says about its own length is compared with what it holds.
"""

import io
from dataclasses import dataclass
from typing import Literal

import numpy as np
import soundfile
from numpy.typing import NDArray

from server.errors import InvalidConfigError, OutOfRangeError

Kind = Literal["WAV", "FLAC", "Ogg", "MP3"]

AUDIO_FIELD = "audio"
RATE_RANGE_HZ = (8_000, 192_000)
_MAX_CHANNELS = 2
_STARTS: dict[bytes, Kind] = {b"RIFF": "WAV", b"RF64": "WAV", b"fLaC": "FLAC", b"OggS": "Ogg", b"ID3": "MP3"}
_STREAMED_BYTES = 0x7FFF0000
"""Writers that cannot go back put a size from here on into the header."""
_MOST_FRAMES = 1 << 48
"""More than any file can state; libsndfile means that it states nothing."""
_LAST_PAGE = 4
_BITRATES = {
    3: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),  # kbit/s of MPEG 1, layer 3
    2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),  # and of MPEG 2 and 2.5
}
_MP3_RATES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_SPARE_SHARE = 0.02
"""What an encoder's own delay and tags may account for."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a file holds.

    Attributes:
        samples: float32 [count, channels].
        rate_hz: samples per second.
    """

    samples: NDArray[np.float32]
    rate_hz: int


def file_kind(content: bytes) -> Kind | None:
    """Return what kind of file these bytes begin like; None for anything else."""
    for start, kind in _STARTS.items():
        if content.startswith(start):
            return kind
    first = _mp3_frame_bytes(content, 0)
    # Two bytes could begin any samples; where a second frame follows the first it is no chance.
    return "MP3" if first and _mp3_frame_bytes(content, first) else None


def decode(content: bytes, kind: Kind, max_s: float) -> Decoded:
    """Return the samples of a file.

    Raises:
        InvalidConfigError: It cannot be read, is not complete, or has more than two channels.
        OutOfRangeError: It is longer than `max_s`, or its rate is none that is taken.
    """
    if not _is_complete(content, kind):
        raise _broken(kind)
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            _check_header(file, kind, max_s)  # before anything is unpacked
            samples: NDArray[np.float32] = file.read(file.frames, dtype="float32", always_2d=True)
            if len(samples) < (1 - _SPARE_SHARE) * file.frames:
                raise _broken(kind)
            return Decoded(samples, file.samplerate)
    except soundfile.LibsndfileError as error:
        raise _broken(kind) from error


def _check_header(file: soundfile.SoundFile, kind: Kind, max_s: float) -> None:
    check_rate(file.samplerate)
    if file.channels > _MAX_CHANNELS:
        raise InvalidConfigError(f"The recording has {file.channels} channels; send one or two.", AUDIO_FIELD)
    if file.frames > _MOST_FRAMES:
        raise InvalidConfigError(
            f"The {kind} file does not say how long it is; save it once more, so that its header does.", AUDIO_FIELD
        )
    if file.frames > max_s * file.samplerate:
        length_s = file.frames / file.samplerate
        raise OutOfRangeError(f"The recording lasts {length_s:.1f} s; a voice takes at most {max_s:g} s.", AUDIO_FIELD)


def check_rate(rate_hz: int) -> None:
    """Refuse rates that are too low to make a voice of, or that nobody records at."""
    low, high = RATE_RANGE_HZ
    if not low <= rate_hz <= high:
        raise OutOfRangeError(
            f"The recording has {rate_hz} samples per second; from {low} to {high} are taken.", AUDIO_FIELD
        )


def _broken(kind: Kind) -> InvalidConfigError:
    return InvalidConfigError(
        f"The recording begins like a file of kind {kind} but cannot be read: it is damaged, or not complete. Send the "
        "whole file, or headerless samples.",
        AUDIO_FIELD,
    )


def _is_complete(content: bytes, kind: Kind) -> bool:
    if kind == "WAV":
        return _is_complete_wav(content)
    if kind == "Ogg":
        return _is_complete_ogg(content)
    return kind != "MP3" or _is_complete_mp3(content)


def _is_complete_wav(content: bytes) -> bool:
    """Tell whether the bytes of the samples are all there, as far as the header knows how many they are."""
    position = 12
    while position + 8 <= len(content):
        size = int.from_bytes(content[position + 4 : position + 8], "little")
        if content.startswith(b"data", position):
            return size >= _STREAMED_BYTES or position + 8 + size <= len(content)
        position += 8 + size + size % 2
    return False


def _is_complete_ogg(content: bytes) -> bool:
    """Tell whether page follows page up to one that says it is the last."""
    position, is_last = 0, False
    while content.startswith(b"OggS", position) and position + 27 <= len(content):
        is_last = bool(content[position + 5] & _LAST_PAGE)
        table = content[position + 27 : position + 27 + content[position + 26]]
        position += 27 + content[position + 26] + sum(table)
    return is_last and position == len(content)


def _is_complete_mp3(content: bytes) -> bool:
    """Tell whether the file has as many bytes as its first frame says; without such a word any number will do."""
    start = 0
    if content.startswith(b"ID3") and len(content) > 10:
        size = content[6:10]
        start = 10 + (size[0] << 21 | size[1] << 14 | size[2] << 7 | size[3])
    head = content[start : start + 64]
    tag = max(head.find(b"Xing"), head.find(b"Info"))
    if tag < 0 or len(head) < tag + 16:
        return True
    flags, byte_count = (int.from_bytes(head[tag + place : tag + place + 4], "big") for place in (4, 12))
    return flags & 3 != 3 or len(content) - start >= (1 - _SPARE_SHARE) * byte_count


def _mp3_frame_bytes(content: bytes, start: int) -> int:
    """Return the length of the frame of MPEG layer 3 whose header stands at `start`; 0 if none does."""
    if len(content) < start + 4 or content[start] != 0xFF or content[start + 1] & 0xE6 != 0xE2:
        return 0
    version, bitrate, rate = content[start + 1] >> 3 & 3, content[start + 2] >> 4, content[start + 2] >> 2 & 3
    if version not in _MP3_RATES or not 0 < bitrate < 15 or rate == 3:
        return 0
    rates = _BITRATES[3 if version == 3 else 2]
    half_frames = 144 if version == 3 else 72
    return half_frames * 1000 * rates[bitrate - 1] // _MP3_RATES[version][rate] + (content[start + 2] >> 1 & 1)
