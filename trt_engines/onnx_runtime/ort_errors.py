"""The exceptions of ONNX Runtime, which has one of its own for every status and no common base."""

import onnxruntime as ort

ORT_ERRORS: tuple[type[Exception], ...] = tuple(
    value
    for value in vars(ort.capi.onnxruntime_pybind11_state).values()
    if isinstance(value, type) and issubclass(value, Exception)
)
