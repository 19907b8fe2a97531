"""The schema of a voice bundle's `manifest.json`, as frozen dataclasses: the keys of the file are the fields here.

`manifest_loading` reads and checks a bundle, `manifest_writing` writes one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from trt_engines.manifest_bounds import Bounds

SCHEMA_VERSION = 1
MANIFEST_NAME = "manifest.json"

Positive = Annotated[int, Bounds(1)]
NotNegative = Annotated[int, Bounds(0)]
FloatType = Literal["float32", "float16"]
FrameType = Literal["int32", "float32", "float16"]
Precision = Literal["float32", "float16", "int8", "int4"]
StateType = Literal["int32", "int64", "float32", "float16"]


@dataclass(frozen=True)
class FrontendSpec:
    """The front end that turns text into rows: its kind, and its files relative to the bundle."""

    kind: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class AudioSpec:
    """The samples that come out."""

    sample_rate_hz: Positive
    samples_per_frame: Positive

    @property
    def frame_rate_hz(self) -> float:
        """Frames per second of audio."""
        return self.sample_rate_hz / self.samples_per_frame


@dataclass(frozen=True)
class RowSpec:
    """The int32 columns of a row; `pointer_column` is the one that tells the prompt position being spoken, if any."""

    columns: tuple[str, ...]
    pointer_column: NotNegative | None


@dataclass(frozen=True)
class FrameSpec:
    """What the talker hands to the vocoder for one frame."""

    dtype: FrameType
    width: Positive


@dataclass(frozen=True)
class KvSpec:
    """The KV cache of the talker: tensors `k_<i>` and `v_<i>` of [rows, heads, positions, head_dim] per layer."""

    layers: Positive
    heads: Positive
    head_dim: Positive
    dtype: FloatType

    @property
    def bytes_per_position(self) -> int:
        """Bytes that one position of one slot takes over all layers."""
        return 2 * self.layers * self.heads * self.head_dim * (4 if self.dtype == "float32" else 2)


@dataclass(frozen=True)
class StateSpec:
    """One further tensor per slot that `step` reads and writes, zero at the start of a segment."""

    name: str
    shape: tuple[Positive, ...]
    dtype: StateType


@dataclass(frozen=True)
class PrefillSpec:
    """The graph that writes prompt rows into the cache, at most `chunk_rows` of a slot at once."""

    graph: str
    chunk_rows: Positive


@dataclass(frozen=True)
class ParamSpec:
    """One sampling parameter of `step`, in the order of the graph's `params` columns."""

    name: str
    default: float
    min: float
    max: float


@dataclass(frozen=True)
class StepSpec:
    """The graph that makes one frame.

    `random_columns` uniform numbers are drawn per step; `reads_prompt` adds the inputs `prompt` and `prompt_count`.
    """

    graph: str
    random_columns: NotNegative
    reads_prompt: bool
    min_frames: NotNegative
    max_frames: Positive
    params: tuple[ParamSpec, ...]


@dataclass(frozen=True)
class VocodeSpec:
    """The graph that makes samples.

    Kind `state` keeps `state_width` floats per slot and has `left_frames` 0; kind `window` is given `left_frames` of
    context before the new frames and has `state_width` 0. A vocoder of kind `state` with a `voice_width` speaks in
    several voices: each item is given that many numbers, its voice vector.
    """

    graph: str
    kind: Literal["state", "window"]
    lookahead_frames: NotNegative
    state_width: NotNegative
    left_frames: NotNegative
    first_chunk_frames: Positive
    chunk_frames: Positive
    voice_width: NotNegative = 0


@dataclass(frozen=True)
class ReferenceSpec:
    """The graph that turns reference samples into the frames of a voice prompt."""

    graph: str
    sample_rate_hz: Positive
    min_s: float
    max_s: float
    needs_transcript: bool


@dataclass(frozen=True)
class CapabilitiesSpec:
    """What a client may ask of the voices of this bundle."""

    clone: bool
    word_times: bool
    speed: bool


@dataclass(frozen=True)
class ParitySpec:
    """One result of verification: how far a graph was from the torch network in one case."""

    graph: str
    backend: str
    case: str
    worst_error: float
    tolerance: float


@dataclass(frozen=True)
class QualitySpec:
    """What rounding the weights of a part (`talker`, `codec`) changed by one measure, against that part in float32."""

    part: str
    measure: str
    value: float


@dataclass(frozen=True)
class Manifest:
    """A whole `manifest.json`. `hashes` names every file that runs or proves; `quality` may be left out."""

    schema_version: int
    id: str
    family: str
    licence: str
    languages: tuple[str, ...]
    frontend: FrontendSpec
    audio: AudioSpec
    row: RowSpec
    frame: FrameSpec
    max_positions: Positive
    kv: KvSpec
    state: tuple[StateSpec, ...]
    prefill: PrefillSpec
    step: StepSpec
    vocode: VocodeSpec
    reference: ReferenceSpec | None
    capabilities: CapabilitiesSpec
    precision: Precision
    verification: tuple[ParitySpec, ...]
    hashes: Mapping[str, str]
    quality: tuple[QualitySpec, ...] = ()

    @property
    def graph_files(self) -> tuple[str, ...]:
        """Every graph of the bundle, relative to it."""
        graphs = (self.prefill.graph, self.step.graph, self.vocode.graph)
        return graphs if self.reference is None else (*graphs, self.reference.graph)

    @property
    def voice_files(self) -> tuple[str, ...]:
        """The built-in voices, `voices/<name>.json`, sorted by name."""
        return tuple(sorted(name for name in self.hashes if name.startswith("voices/") and name.endswith(".json")))
