"""Writes a bundle of the `fish_speech` family: four graphs, the tokenizer, voices, and the manifest."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from safetensors.numpy import save_file

from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.encode import build_encode
from build_engines.fish_speech.prefill import build_prefill
from build_engines.fish_speech.step import HISTORY_FRAMES, PARAMS, FishStep
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.fish_speech.vocode import CodecWeights, build_vocode
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.storage import Storage
from build_engines.graph.weight_file import WeightFile
from trt_engines import manifest as schema
from trt_engines.manifest_writing import write_manifest

_PARAM_RANGES = {"temperature": (0.7, 0.1, 1.0), "top_p": (0.7, 0.1, 1.0), "repetition_penalty": (1.2, 0.9, 2.0)}
_LANGUAGES = ("en", "zh", "ja", "de", "fr", "es", "ko", "ar", "ru", "nl", "it", "pl", "pt")
_MAX_FRAMES = 1024
_MANY_BYTES = 1 << 30
_REFERENCE_S = (3.0, 60.0)
_PRECISIONS: dict[Storage, schema.Precision] = {Storage.INT8: "int8", Storage.INT4: "int4"}


@dataclass(frozen=True)
class BuiltInVoice:
    """A voice that comes with the bundle.

    Attributes:
        description: what `voices/<name>.json` says, besides the name.
        references: transcript and codes int32 [frames, codebooks] of each recording that shows the voice.
    """

    description: Mapping[str, Any]
    references: Sequence[tuple[str, npt.NDArray[np.int32]]] = ()


_NO_REFERENCE = BuiltInVoice(
    {
        "language_codes": list(_LANGUAGES),
        "gender": "neutral",
        "description": "No reference: the model speaks in a voice that it makes up for each seed.",
    }
)


@dataclass(frozen=True)
class FishBundle:
    """Everything that goes into a bundle.

    Attributes:
        bundle_id: id in the manifest.
        checkpoint: what it is made of.
        voices: by name; without a voice of one's own the model makes one up.
        storage: precision of the talker's graphs.
        codec_storage: precision of the codec's graphs.
        upstream_compat: behave as the original where that differs from what is right.
        licence: SPDX expression of the weights.
    """

    bundle_id: str
    checkpoint: FishCheckpoint
    voices: Mapping[str, BuiltInVoice] = field(default_factory=lambda: {"default": _NO_REFERENCE})
    storage: Storage = Storage.FLOAT32
    codec_storage: Storage = Storage.FLOAT32
    upstream_compat: bool = False
    licence: str = "CC-BY-NC-SA-4.0"

    def write(self, bundle_dir: Path, verification: Sequence[schema.ParitySpec] = ()) -> schema.Manifest:
        """Write the directory, replacing files of the same names, and return the manifest as it was read back."""
        (bundle_dir / "graphs").mkdir(parents=True, exist_ok=True)
        talker, codec = self.talker_weights(), CodecWeights.of(self.checkpoint.codec)
        state_widths: list[int] = []
        self._save(bundle_dir, "prefill", self.storage, lambda graph: build_prefill(graph, talker))
        self._save(bundle_dir, "step", self.storage, FishStep(talker).build)
        self._save(
            bundle_dir, "vocode", self.codec_storage, lambda graph: state_widths.append(build_vocode(graph, codec))
        )
        self._save(bundle_dir, "encode", self.codec_storage, lambda graph: build_encode(graph, codec))
        self._write_frontend(bundle_dir / "frontend")
        for name, voice in self.voices.items():
            _write_voice(bundle_dir / "voices", name, voice)
        return write_manifest(bundle_dir, self._manifest(state_widths[0], verification))

    def talker_weights(self) -> TalkerWeights:
        """Return what the talker's graphs are made of."""
        code_count = self.checkpoint.codec.config.code_count
        return TalkerWeights.of(self.checkpoint.talker, code_count, upstream_compat=self.upstream_compat)

    def _save(self, bundle_dir: Path, name: str, storage: Storage, build: Callable[[GraphBuilder], None]) -> None:
        """Write one graph; the weights of a large talker go beside it, since a model file ends at two gigabytes."""
        talker_bytes = sum(parameter.nbytes for parameter in self.checkpoint.talker.parameters())
        is_large = name in ("prefill", "step") and talker_bytes > _MANY_BYTES
        path = bundle_dir / "graphs" / f"{name}.onnx"
        weights = WeightFile(path.with_suffix(".data")) if is_large else None
        graph = GraphBuilder(name, storage, weights)
        build(graph)
        onnx.save(graph.model(), path)
        if weights is not None:
            weights.close()
            onnx.checker.check_model(str(path))

    def _write_frontend(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        for path in self.checkpoint.tokenizer_files:
            shutil.copyfile(path, directory / path.name)
        _write_json(
            directory / "fish_speech.json",
            {
                "codebook_count": self.checkpoint.talker.config.codebook_count,
                "semantic_count": self.checkpoint.talker.config.codebook_size,
                "upstream_compat": self.upstream_compat,
            },
        )

    def _manifest(self, state_width: int, verification: Sequence[schema.ParitySpec]) -> schema.Manifest:
        config, codec = self.checkpoint.talker.config, self.checkpoint.codec.config
        slow, books = config.slow, config.codebook_count
        frontend = [*(path.name for path in self.checkpoint.tokenizer_files), "fish_speech.json"]
        return schema.Manifest(
            schema_version=schema.SCHEMA_VERSION,
            id=self.bundle_id,
            family="fish_speech",
            licence=self.licence,
            languages=_LANGUAGES,
            frontend=schema.FrontendSpec("fish_speech", tuple(f"frontend/{name}" for name in frontend)),
            audio=schema.AudioSpec(codec.sample_rate_hz, codec.samples_per_frame),
            row=schema.RowSpec(("token", *(f"c{book}" for book in range(books))), None),
            frame=schema.FrameSpec("int32", books),
            max_positions=config.max_positions,
            kv=schema.KvSpec(slow.layers, slow.kv_heads, slow.head_dim, "float32"),
            state=(
                schema.StateSpec("history", (HISTORY_FRAMES, 1 + books), "int32"),
                schema.StateSpec("frame_count", (1,), "int32"),
            ),
            prefill=schema.PrefillSpec("graphs/prefill.onnx", min(64, config.max_positions)),
            step=self._step(),
            vocode=schema.VocodeSpec("graphs/vocode.onnx", "state", 0, state_width, 0, 3, 16),
            reference=schema.ReferenceSpec("graphs/encode.onnx", codec.sample_rate_hz, *_REFERENCE_S, True),
            capabilities=schema.CapabilitiesSpec(clone=True, word_times=False, speed=False),
            precision=_PRECISIONS.get(self.storage, "float32"),
            verification=tuple(verification),
            hashes={},
        )

    def _step(self) -> schema.StepSpec:
        params = tuple(schema.ParamSpec(name, *_PARAM_RANGES[name]) for name in PARAMS)
        draws, longest = self.checkpoint.talker.config.codebook_count, self.checkpoint.talker.config.max_positions
        return schema.StepSpec("graphs/step.onnx", draws, False, 0, min(_MAX_FRAMES, longest - 1), params)


def _write_voice(directory: Path, name: str, voice: BuiltInVoice) -> None:
    """Write voices/<name>.json, and beside it the codes of its references with their transcripts."""
    _write_json(directory / f"{name}.json", {"name": name, **voice.description})
    if voice.references:
        codes = {f"codes.{index}": codes for index, (_, codes) in enumerate(voice.references)}
        texts = {f"text.{index}": text for index, (text, _) in enumerate(voice.references)}
        save_file(codes, directory / f"{name}.safetensors", texts)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(content, indent=2, ensure_ascii=False)}\n", "utf-8")
