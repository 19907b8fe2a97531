"""A server on a Fish Speech bundle: text and voice in through a socket, the original's audio out."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from antiphon_client.aio import AsyncClient
from antiphon_client.options import Encoding, SpeechOptions
from build_engines.fish_speech import bundle as bundle_module
from build_engines.fish_speech.bundle import BuiltInVoice, FishBundle
from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.codec_checkpoint import load_codec
from build_engines.fish_speech.codec_config import codec_config
from build_engines.fish_speech.talker_checkpoint import load_talker
from build_engines.fish_speech.talker_config import TokenIds, talker_config
from server.app import App
from server.config import EngineSettings, ListenSettings, Settings

DATA = Path(__file__).parents[2] / "data/fish_speech_1_5"
RECORDED = json.loads((DATA / "e2e/e2e.json").read_text())
DESCRIPTION = {"language_codes": ["en"], "gender": "neutral", "description": "The recorded reference."}


@pytest.fixture
def bundle_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of the recorded run: its networks, its reference as a voice, its greedy sampling as the default."""
    monkeypatch.setitem(bundle_module._PARAM_RANGES, "temperature", (1e-5, 1e-5, 1.0))
    config = talker_config(json.loads((DATA / "e2e/config.json").read_text()), "config.json")
    talker = load_talker(load_file(DATA / "e2e/state_dict.safetensors"), config, TokenIds(611, 603))
    sizes = codec_config(json.loads((DATA / "codec_tiny/config.json").read_text()))
    codec = load_codec(load_file(DATA / "codec_tiny/state_dict.safetensors"), sizes, "codec")
    files = (DATA / "tokenizer/tokenizer.tiktoken", DATA / "tokenizer/special_tokens.json")
    with np.load(DATA / "e2e/e2e.npz") as arrays:
        codes = np.ascontiguousarray(arrays["reference_codes"].T)
    voice = BuiltInVoice(DESCRIPTION, [(RECORDED["reference_text"], codes)])
    FishBundle("fish-test", FishCheckpoint(talker, codec, files), {"recorded": voice}).write(tmp_path)
    return tmp_path


async def test_a_client_hears_what_the_original_speaks(bundle_dir: Path) -> None:
    """Tokenizer, prompt, talker, streaming vocoder and server together give the recorded samples."""
    settings = Settings(
        listen=ListenSettings(port=0, metrics_port=-1),
        engine=EngineSettings(bundle_dir=str(bundle_dir), slot_count=2, threads=1),
    )
    options = SpeechOptions(voice="recorded", encoding=Encoding.FLOAT32, seed=1)
    async with App(settings) as app, AsyncClient(f"127.0.0.1:{app.port}") as client:
        speech = client.speak(RECORDED["segments"][0]["text"], options)
        audio = b"".join([chunk.audio async for chunk in speech])
    with np.load(DATA / "e2e/e2e.npz") as arrays:
        np.testing.assert_allclose(np.frombuffer(audio, "<f4"), arrays["segment0_clean_audio"], atol=1e-5)
