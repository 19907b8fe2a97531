"""The tensors that the graphs of a bundle must have: names, dtypes and shapes, derived from the manifest alone.

A dimension is an int where it is fixed, and a name where it changes from call to call: B rows, T cache positions
(capacity), L prompt rows of a chunk, P prompt positions, N vocoder items, F frames, S reference samples.

What the talker's tensors mean:

* `position` is where the (first) row goes in the cache. Everything from there on is invisible to it, whatever the
  cache holds there, as long as it is finite.
* `prompt[b, p]` is column 0 of the prompt row at position p; `prompt_count` is the number of prompt rows before the
  first step's input, which itself is not counted. P is at least 1 and may be longer than any prompt.
* A row of `prefill` beyond its `row_count` may write to the cache (at positions that nothing has been put to yet).

What the vocoder's tensors mean: `count` valid frames lead each item, anything behind is ignored; the state counts the
valid frames only. With `is_last`, `count + lookahead_frames` blocks of samples are good, else `count` blocks.
"""

from dataclasses import dataclass

from trt_engines.manifest import Manifest


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of a graph."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class GraphSpec:
    """The inputs and outputs of one graph; their order does not matter."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def prefill_tensors(manifest: Manifest) -> GraphSpec:
    """Return what `prefill` must look like."""
    inputs = (
        TensorSpec("row_ids", "int32", ("B", "L", len(manifest.row.columns))),
        TensorSpec("row_count", "int32", ("B",)),
        TensorSpec("position", "int32", ("B",)),
    )
    return GraphSpec(inputs + cache_tensors(manifest, ""), cache_tensors(manifest, "_out"))


def step_tensors(manifest: Manifest) -> GraphSpec:
    """Return what `step` must look like."""
    columns = len(manifest.row.columns)
    inputs = [TensorSpec("row_ids", "int32", ("B", columns)), TensorSpec("position", "int32", ("B",))]
    if manifest.state:
        inputs.append(TensorSpec("active", "bool", ("B",)))
    if manifest.step.reads_prompt:
        inputs += [TensorSpec("prompt", "int32", ("B", "P")), TensorSpec("prompt_count", "int32", ("B",))]
    if manifest.step.params:
        inputs.append(TensorSpec("params", "float32", ("B", len(manifest.step.params))))
    if manifest.step.random_columns:
        inputs.append(TensorSpec("random", "float32", ("B", manifest.step.random_columns)))
    outputs = (
        TensorSpec("next_row_ids", "int32", ("B", columns)),
        TensorSpec("frame", manifest.frame.dtype, ("B", manifest.frame.width)),
        TensorSpec("emit", "bool", ("B",)),
        TensorSpec("done", "bool", ("B",)),
    )
    kept_in = cache_tensors(manifest, "") + state_tensors(manifest, "")
    kept_out = cache_tensors(manifest, "_out") + state_tensors(manifest, "_out")
    return GraphSpec(tuple(inputs) + kept_in, outputs + kept_out)


def vocode_tensors(manifest: Manifest) -> GraphSpec:
    """Return what `vocode` must look like."""
    frames = TensorSpec("frames", manifest.frame.dtype, ("N", "F", manifest.frame.width))
    samples = TensorSpec("samples", "float32", ("N", "samples"))
    if manifest.vocode.kind == "window":
        return GraphSpec((frames,), (samples,))
    width = manifest.vocode.state_width
    inputs = [
        frames,
        TensorSpec("count", "int32", ("N",)),
        TensorSpec("is_last", "bool", ("N",)),
        TensorSpec("seed", "int32", ("N",)),
        TensorSpec("state", "float32", ("N", width)),
    ]
    if manifest.vocode.voice_width:
        inputs.append(TensorSpec("voice", "float32", ("N", manifest.vocode.voice_width)))
    return GraphSpec(tuple(inputs), (samples, TensorSpec("state_out", "float32", ("N", width))))


def reference_tensors(manifest: Manifest) -> GraphSpec:
    """Return what `reference` must look like."""
    samples = TensorSpec("samples", "float32", ("N", "S"))
    return GraphSpec((samples,), (TensorSpec("frames", manifest.frame.dtype, ("N", "F", manifest.frame.width)),))


def cache_tensors(manifest: Manifest, suffix: str) -> tuple[TensorSpec, ...]:
    """Return the KV cache tensors: k_0, v_0, k_1, ... with a suffix behind each name."""
    kv = manifest.kv
    shape = ("B", kv.heads, "T", kv.head_dim)
    return tuple(TensorSpec(f"{half}_{i}{suffix}", kv.dtype, shape) for i in range(kv.layers) for half in ("k", "v"))


def state_tensors(manifest: Manifest, suffix: str) -> tuple[TensorSpec, ...]:
    """Return the further state tensors of the talker, with a suffix behind each name."""
    return tuple(TensorSpec(f"{state.name}{suffix}", state.dtype, ("B", *state.shape)) for state in manifest.state)
