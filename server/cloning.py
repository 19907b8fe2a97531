"""Opens what makes and keeps voices of recordings, where bundle and settings allow it.

Imports it only then: a server whose voices are fixed needs neither audio files nor a tokenizer.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from server.errors import SettingsError
from server.voices import VoiceCatalogue
from trt_engines.base import Engine
from trt_engines.manifest import Manifest

if TYPE_CHECKING:
    from server.voice_maker import VoiceMaker
    from server.voice_store import VoiceStore


def open_store(manifest: Manifest, voices_dir: str) -> "VoiceStore | None":
    """Return the voices that callers made, or None if nobody may make any.

    Raises:
        SettingsError: The directory cannot be used, or the extra is not installed.
    """
    if not voices_dir or not manifest.capabilities.clone:
        return None
    try:
        from server.voice_store import VoiceStore

        return VoiceStore(Path(voices_dir), manifest.audio.sample_rate_hz)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"Making voices needs {error.name}, which is not installed: `pip install 'antiphon[fish]'`, or leave "
            "engine.voices_dir empty."
        ) from error
    except OSError as error:
        raise SettingsError(f"engine.voices_dir {voices_dir} cannot be used: {error.strerror}.") from error


def voice_maker(engine: Engine, store: "VoiceStore | None", voices: VoiceCatalogue) -> "VoiceMaker | None":
    """Return what makes voices of recordings, or None if nobody may."""
    reference = engine.manifest.reference
    if store is None or engine.reference_encoder is None or reference is None:
        return None
    from server.voice_maker import VoiceMaker

    return VoiceMaker(engine.reference_encoder, reference, store, voices.is_built_in)
