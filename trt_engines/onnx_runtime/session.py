"""Opening a graph of a bundle as an ONNX Runtime session, and checking that it is what the manifest says."""

from collections.abc import Callable
from pathlib import Path

import onnxruntime as ort

from trt_engines.errors import BackendError, ManifestError
from trt_engines.graph_tensors import GraphSpec, TensorSpec
from trt_engines.manifest import MANIFEST_NAME, Manifest
from trt_engines.onnx_runtime.ort_errors import ORT_ERRORS

_ERRORS_ONLY = 3
_REMEDY = "Correct the manifest, or rebuild the bundle with `python -m build_engines`."
_ELEMENT_TYPES = {
    "tensor(bool)": "bool",
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
}


def open_session(
    bundle_dir: Path, graph: str, manifest: Manifest, tensors: Callable[[Manifest], GraphSpec], thread_count: int = 1
) -> ort.InferenceSession:
    """Open one graph, as a rule with a single thread; `Lanes` says how several threads share it.

    Args:
        bundle_dir: The bundle.
        graph: File of the graph, relative to the bundle.
        manifest: Manifest of the bundle.
        tensors: What the graph must look like by the manifest.
        thread_count: Threads of the session itself, its caller's included.

    Raises:
        ManifestError: The graph's inputs or outputs are not those that the manifest implies.
        BackendError: ONNX Runtime cannot load the graph.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = thread_count
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # lanes would wait for the arena's one lock
    options.log_severity_level = _ERRORS_ONLY
    try:
        session = ort.InferenceSession(str(bundle_dir / graph), options, providers=["CPUExecutionProvider"])
    except ORT_ERRORS as error:
        raise BackendError(
            f"{bundle_dir / graph}: ONNX Runtime {ort.__version__} cannot load this graph: {error} Install "
            "onnxruntime 1.32 or newer, or rebuild the bundle with `python -m build_engines`."
        ) from error
    check_graph(session, tensors(manifest), f"{bundle_dir / MANIFEST_NAME}: graph {graph!r}")
    return session


def check_graph(session: ort.InferenceSession, expected: GraphSpec, place: str) -> None:
    """Compare a session's inputs and outputs with what they must be.

    Args:
        session: The session.
        expected: What the manifest implies.
        place: Manifest file and graph, for the error.

    Raises:
        ManifestError: They differ; names the tensor, both values and the remedy.
    """
    for role, tensors, nodes in (
        ("input", expected.inputs, session.get_inputs()),
        ("output", expected.outputs, session.get_outputs()),
    ):
        actual = {
            node.name: TensorSpec(node.name, _ELEMENT_TYPES.get(node.type, node.type), tuple(node.shape))
            for node in nodes
        }
        wanted = {tensor.name: tensor for tensor in tensors}
        for name in sorted(wanted.keys() ^ actual.keys()):
            problem = "lacks" if name in wanted else "has"
            by = "which the manifest calls for" if name in wanted else "which the manifest does not call for"
            raise ManifestError(f"{place} {problem} the {role} {name!r}, {by}. {_REMEDY}")
        for name, tensor in wanted.items():
            if not _fits(actual[name], tensor):
                raise ManifestError(
                    f"{place} has the {role} {name!r} as {_text(actual[name])} but the manifest implies "
                    f"{_text(tensor)}. {_REMEDY}"
                )


def _fits(actual: TensorSpec, wanted: TensorSpec) -> bool:
    if actual.dtype != wanted.dtype or len(actual.shape) != len(wanted.shape):
        return False
    pairs = zip(actual.shape, wanted.shape, strict=True)
    return all(a == w if isinstance(w, int) else not isinstance(a, int) for a, w in pairs)


def _text(tensor: TensorSpec) -> str:
    return f"{tensor.dtype}[{', '.join('?' if size is None else str(size) for size in tensor.shape)}]"
