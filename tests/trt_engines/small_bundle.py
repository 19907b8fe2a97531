"""A bundle of hand-written graphs that use everything the contract has: a pointer, sampler state, parameters, NaN.

The talker is one layer of attention over embedded ids. A row is [id, pointer]; the pointer moves on by one at each
second step; the segment is done when it passes the prompt. Id 15 embeds as NaN. Parameter `heat` scales the logits.
The vocoder hears the frame before and the frame after each frame, and the seed.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from trt_engines.manifest import (
    SCHEMA_VERSION,
    AudioSpec,
    CapabilitiesSpec,
    FrameSpec,
    FrontendSpec,
    KvSpec,
    Manifest,
    ParamSpec,
    ParitySpec,
    PrefillSpec,
    ReferenceSpec,
    RowSpec,
    StateSpec,
    StepSpec,
    VocodeSpec,
)
from trt_engines.manifest_writing import write_manifest

NAN_ID = 15
SAMPLES_PER_FRAME = 4
_WIDTH = 64
_HEADS = 2
_HEAD_DIM = 32

_LAYER = """
    hidden = Gather(table, ids)
    qkv = MatMul(hidden, wqkv)
    rows = Reshape(qkv, row_shape)
    turned = Transpose<perm = [0, 2, 1, 3]>(rows)
    q, k, v = Split<axis = 1>(turned, head_counts)
    at = Cast<to = 7>(position)
    k_0_out = TensorScatter<axis = -2, mode = "linear">(k_0, k, at)
    v_0_out = TensorScatter<axis = -2, mode = "linear">(v_0, v, at)
"""
_CACHES = "float[B, 2, T, 32] k_0, float[B, 2, T, 32] v_0"
_CACHES_OUT = "float[B, 2, T, 32] k_0_out, float[B, 2, T, 32] v_0_out"

_PREFILL = f"""
<ir_version: 11, opset_import: ["" : 24]>
prefill (int32[B, L, 2] row_ids, int32[B] row_count, int32[B] position, {_CACHES}) => ({_CACHES_OUT})
{{
    ids = Gather<axis = -1>(row_ids, zero)
    {_LAYER}
}}
"""
_STEP = f"""
<ir_version: 11, opset_import: ["" : 24]>
step (int32[B, 2] row_ids, int32[B] position, bool[B] active, int32[B, P] prompt, int32[B] prompt_count,
      float[B, 1] params, float[B, 2] random, {_CACHES}, int32[B, 2] past)
  => (int32[B, 2] next_row_ids, int32[B, 2] frame, bool[B] emit, bool[B] done, {_CACHES_OUT}, int32[B, 2] past_out)
{{
    id, pointer = Split<axis = -1, num_outputs = 2>(row_ids)
    ids = Identity(id)
    {_LAYER}
    capacity = Shape<start = 2, end = 3>(k_0)
    all = Squeeze(capacity)
    columns = Range(zero, all, one)
    position4 = Reshape(at, column4)
    visible = LessOrEqual(columns, position4)
    mixed = Attention(q, k_0_out, v_0_out, visible)
    back = Transpose<perm = [0, 2, 1, 3]>(mixed)
    merged = Reshape(back, flat)
    input = Reshape(hidden, flat)
    summed = Add(merged, input)
    logits = MatMul(summed, head)
    steps, noise = Split<axis = -1, num_outputs = 2>(random)
    cold = Mul(logits, params)
    chances = Softmax<axis = -1>(cold)
    running = CumSum(chances, last)
    passed = Less(running, noise)
    counts = Cast<to = 6>(passed)
    drawn = ReduceSum(counts, last1)
    code = Min(drawn, largest)
    moved_by = Mod(past_sum, two)
    past_sum = ReduceSum(past, last1)
    next_pointer = Add(pointer, moved_by)
    next_row_ids = Concat<axis = -1>(code, next_pointer)
    heard = Cast<to = 6>(chosen)
    chosen = Greater(steps, half)
    frame = Concat<axis = -1>(code, heard)
    count = Unsqueeze(prompt_count, last1)
    ended = GreaterOrEqual(next_pointer, count)
    done = Squeeze(ended, last1)
    emit = Not(done)
    active2 = Unsqueeze(active, last1)
    grown = Add(past, step_count)
    past_out = Where(active2, grown, past)
}}
"""
_STATE_VOCODE = """
<ir_version: 11, opset_import: ["" : 24]>
vocode (int32[N, F, 2] frames, int32[N] count, bool[N] is_last, int32[N] seed, float[N, 66] state)
  => (float[N, S] samples, float[N, 66] state_out)
{
    seen, before, older = Split<axis = -1>(state, state_parts)
    size = Shape<start = 1, end = 2>(frames)
    all = Squeeze(size)
    columns = Range(zero, all, one)
    count64 = Cast<to = 7>(count)
    ends = Unsqueeze(count64, last1)
    valid = Less(columns, ends)
    valid3 = Unsqueeze(valid, last1)
    code = Gather<axis = -1>(frames, zero)
    embedded = Gather(table, code)
    heard = Where(valid3, embedded, nothing)
    older3 = Unsqueeze(older, axis1)
    line = Concat<axis = 1>(older3, heard)
    now = Slice(line, start0, ends_1, axis1)
    next = Slice(line, start1, end_far, axis1)
    mixed = Mul(next, half)
    both = Add(now, mixed)
    flat = MatMul(both, blocks)
    seed_f = Cast<to = 1>(seed)
    seed2 = Unsqueeze(seed_f, last1)
    columns_f = Cast<to = 1>(columns)
    index = Add(seen, columns_f)
    phase = Add(index, seed2)
    hiss = Tanh(phase)
    hiss3 = Unsqueeze(hiss, last1)
    all_samples = Add(flat, hiss3)
    samples = Reshape(all_samples, flat_shape)
    count_f = Cast<to = 1>(ends)
    seen_out = Add(seen, count_f)
    ends3 = Unsqueeze(ends, last1)
    picked_at = Expand(ends3, pick_shape)
    picked = GatherElements<axis = 1>(line, picked_at)
    older_out = Squeeze(picked, axis1)
    state_out = Concat<axis = -1>(seen_out, before, older_out)
}
"""
_WINDOW_VOCODE = """
<ir_version: 11, opset_import: ["" : 24]>
vocode (int32[N, F, 2] frames) => (float[N, S] samples)
{
    code = Gather<axis = -1>(frames, zero)
    embedded = Gather(table, code)
    now = Pad(embedded, padding)
    next = Slice(now, start1, end_far, axis1)
    cut = Slice(now, start0, ends_1, axis1)
    mixed = Mul(cut, half)
    both = Add(next, mixed)
    flat = MatMul(both, blocks)
    samples = Reshape(flat, flat_shape)
}
"""
_ENCODE = """
<ir_version: 11, opset_import: ["" : 24]>
encode (float[N, S] samples) => (int32[N, F, 2] frames)
{
    blocks_of_4 = Reshape(samples, block_shape)
    loudness = ReduceMax(blocks_of_4, last1)
    scaled = Mul(loudness, ten)
    codes = Cast<to = 6>(scaled)
    frames = Concat<axis = -1>(codes, codes)
}
"""


def write_small_bundle(bundle_dir: Path, vocode_kind: str = "state") -> Manifest:
    """Write the bundle, with a vocoder of this kind, and return its manifest. The one with a window clones as well."""
    for name in ("graphs", "frontend", "voices"):
        (bundle_dir / name).mkdir(parents=True)
    vocode = {"state": _STATE_VOCODE, "window": _WINDOW_VOCODE}[vocode_kind]
    texts = {"prefill": _PREFILL, "step": _STEP, "vocode": vocode}
    for name, text in (texts if vocode_kind == "state" else texts | {"encode": _ENCODE}).items():
        onnx.save(_model(text), bundle_dir / "graphs" / f"{name}.onnx")
    (bundle_dir / "frontend" / "ids.json").write_text("{}\n")
    (bundle_dir / "voices" / "ida.json").write_text("{}\n")
    return write_manifest(bundle_dir, small_manifest(vocode_kind))


def small_manifest(vocode_kind: str = "state") -> Manifest:
    """Return the manifest without hashes."""
    is_state = vocode_kind == "state"
    return Manifest(
        schema_version=SCHEMA_VERSION,
        id="small",
        family="small",
        licence="Apache-2.0",
        languages=("en-US",),
        frontend=FrontendSpec("ids", ("frontend/ids.json",)),
        audio=AudioSpec(24_000, SAMPLES_PER_FRAME),
        row=RowSpec(("id", "pointer"), 1),
        frame=FrameSpec("int32", 2),
        max_positions=400,
        kv=KvSpec(1, _HEADS, _HEAD_DIM, "float32"),
        state=(StateSpec("past", (2,), "int32"),),
        prefill=PrefillSpec("graphs/prefill.onnx", 64),
        step=StepSpec("graphs/step.onnx", 2, True, 1, 300, (ParamSpec("heat", 1.0, 0.1, 10.0),)),
        vocode=VocodeSpec("graphs/vocode.onnx", "state", 1, 66, 0, 2, 8)
        if is_state
        else VocodeSpec("graphs/vocode.onnx", "window", 0, 0, 2, 2, 8),
        reference=None if is_state else ReferenceSpec("graphs/encode.onnx", 16_000, 0.01, 0.1, needs_transcript=True),
        capabilities=CapabilitiesSpec(clone=not is_state, word_times=True, speed=False),
        precision="float32",
        verification=(ParitySpec("graphs/step.onnx", "onnxruntime", "2 rows", 1e-6, 1e-4),),
        hashes={},
    )


def _model(text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(text)
    used = {name for node in model.graph.node for name in node.input}
    made = {name for node in model.graph.node for name in node.output} | {value.name for value in model.graph.input}
    values = _constants()
    for name in sorted(used - made):
        model.graph.initializer.append(numpy_helper.from_array(values[name], name))
    nodes = _in_order(list(model.graph.node), made=set(values) | {value.name for value in model.graph.input})
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.checker.check_model(model)
    return model


def _in_order(nodes: list[onnx.NodeProto], made: set[str]) -> list[onnx.NodeProto]:
    """Sort nodes so that each comes after those that make its inputs."""
    ordered: list[onnx.NodeProto] = []
    while nodes:
        ready = next(node for node in nodes if set(node.input) <= made)
        nodes.remove(ready)
        ordered.append(ready)
        made |= set(ready.output)
    return ordered


def _constants() -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    table = random.standard_normal((NAN_ID + 1, _WIDTH)).astype(np.float32)
    table[NAN_ID] = np.nan
    weights = {"table": table}
    shapes = {"wqkv": (_WIDTH, 3 * _HEADS * _HEAD_DIM), "head": (_WIDTH, NAN_ID), "blocks": (_WIDTH, SAMPLES_PER_FRAME)}
    weights |= {name: (random.standard_normal(shape) * 0.2).astype(np.float32) for name, shape in shapes.items()}
    longs = {
        "zero": 0,
        "one": 1,
        "last": -1,
        "last1": [-1],
        "axis1": [1],
        "start0": [0],
        "start1": [1],
        "ends_1": [-1],
        "end_far": [2**40],
        "row_shape": [0, -1, 3 * _HEADS, _HEAD_DIM],
        "head_counts": [_HEADS] * 3,
        "column4": [-1, 1, 1, 1],
        "flat": [0, _WIDTH],
        "flat_shape": [0, -1],
        "state_parts": [1, 1, _WIDTH],
        "pick_shape": [1, 1, _WIDTH],
        "block_shape": [0, -1, SAMPLES_PER_FRAME],
        "padding": [0, 1, 0, 0, 0, 0],
    }
    ints = {"largest": NAN_ID - 1, "two": 2, "step_count": [1, 0]}
    floats = {"half": 0.5, "nothing": 0.0, "ten": 10.0}
    return (
        weights
        | {name: np.array(value, np.int64) for name, value in longs.items()}
        | {name: np.array(value, np.int32) for name, value in ints.items()}
        | {name: np.array(value, np.float32) for name, value in floats.items()}
    )
