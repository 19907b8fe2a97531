"""Writes a bundle of the `pointer` family: three graphs, the front end's files, voices, and the manifest."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from build_engines.graph.layers import Weights
from build_engines.graph.storage import Storage
from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.networks.pointer_talker_config import ROW_COLUMNS, PointerTalkerConfig
from build_engines.phoneme_vocabulary import phoneme_vocabulary
from build_engines.pointer.prefill import PointerPrefill
from build_engines.pointer.step import PARAMS, PointerStep
from build_engines.pointer.stop_rule import StopRule
from build_engines.pointer.talker_weights import fold_talker
from build_engines.vocoder.vocode import CodecVocoder
from trt_engines import manifest as schema
from trt_engines.manifest_writing import write_manifest

_PARAM_RANGES = {
    "temperature": (0.3, 0.0, 1.5),
    "top_p": (0.9, 0.01, 1.0),
    "advance_temperature": (0.7, 0.0, 1.5),
    "advance_top_p": (0.95, 0.01, 1.0),
}


@dataclass(frozen=True)
class PointerBundle:
    """Everything that goes into a bundle.

    Attributes:
        bundle_id: id in the manifest.
        codec, codec_weights: of a `LatentCodec`.
        talker, talker_weights: of a `PointerTalker`.
        voices: what `voices/<name>.json` says, by name.
        licence: SPDX expression of the weights.
        languages: BCP 47 tags.
        max_positions: prompt and frames of the longest segment together.
        max_frames: frames of the longest segment.
        min_frames: frames that a segment has at least.
        talker_storage, vocoder_storage: precision of the graphs.
    """

    bundle_id: str
    codec: LatentCodecConfig
    codec_weights: Weights
    talker: PointerTalkerConfig
    talker_weights: Weights
    voices: Mapping[str, Mapping[str, Any]]
    licence: str = "Apache-2.0"
    languages: tuple[str, ...] = ("en-US",)
    max_positions: int = 1024
    max_frames: int = 600
    min_frames: int = 2
    talker_storage: Storage = Storage.FLOAT32
    vocoder_storage: Storage = Storage.FLOAT32

    def write(self, bundle_dir: Path) -> schema.Manifest:
        """Write the directory, replacing files of the same names, and return the manifest as it was read back."""
        graphs, state_width = self.graphs()
        (bundle_dir / "graphs").mkdir(parents=True, exist_ok=True)
        for name, model in graphs.items():
            onnx.save(model, bundle_dir / "graphs" / f"{name}.onnx")
        _write_json(bundle_dir / "frontend" / "phonemes.json", phoneme_vocabulary())
        for name, description in self.voices.items():
            _write_json(bundle_dir / "voices" / f"{name}.json", {"name": name, **description})
        return write_manifest(bundle_dir, self._manifest(state_width))

    def graphs(self) -> tuple[dict[str, onnx.ModelProto], int]:
        """Build the graphs, by name; the number is the width of the vocoder's state."""
        folded = fold_talker(self.talker_weights, self.talker)
        rule = StopRule(self.talker.end_dwell, self.min_frames)
        vocode, state_width = CodecVocoder(self.codec, self.codec_weights).graph(self.vocoder_storage)
        models = {
            "prefill": PointerPrefill(self.talker, folded, self.max_positions).graph(self.talker_storage).model(),
            "step": PointerStep(self.talker, folded, self.max_positions, rule).graph(self.talker_storage).model(),
            "vocode": vocode.model(),
        }
        return models, state_width

    def _manifest(self, state_width: int) -> schema.Manifest:
        slow, books = self.talker.slow, self.talker.codebook_count
        return schema.Manifest(
            schema_version=schema.SCHEMA_VERSION,
            id=self.bundle_id,
            family="pointer",
            licence=self.licence,
            languages=self.languages,
            frontend=schema.FrontendSpec("phonemes", ("frontend/phonemes.json",)),
            audio=schema.AudioSpec(self.codec.sample_rate_hz, self.codec.sub_frames * self.codec.hop_samples),
            row=schema.RowSpec((*ROW_COLUMNS, *(f"c{book}" for book in range(books))), ROW_COLUMNS.index("pointer")),
            frame=schema.FrameSpec("int32", books),
            max_positions=self.max_positions,
            kv=schema.KvSpec(slow.layers, slow.kv_heads, slow.head_dim, "float32"),
            state=(),
            prefill=schema.PrefillSpec("graphs/prefill.onnx", 64),
            step=self._step(),
            vocode=self._vocode(state_width),
            reference=None,
            capabilities=schema.CapabilitiesSpec(clone=False, word_times=True, speed=False),
            precision="int8" if self.talker_storage is Storage.INT8 else "float32",
            verification=(),
            hashes={},
        )

    def _step(self) -> schema.StepSpec:
        params = tuple(schema.ParamSpec(name, *_PARAM_RANGES[name]) for name in PARAMS)
        draws = 1 + self.talker.codebook_count
        return schema.StepSpec("graphs/step.onnx", draws, True, self.min_frames, self.max_frames, params)

    def _vocode(self, state_width: int) -> schema.VocodeSpec:
        lookahead = CodecVocoder(self.codec, self.codec_weights).geometry.lookahead_frames
        width = self.codec.voice_width
        return schema.VocodeSpec("graphs/vocode.onnx", "state", lookahead, state_width, 0, 2, 8, voice_width=width)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(content, indent=2, ensure_ascii=False)}\n", "utf-8")
