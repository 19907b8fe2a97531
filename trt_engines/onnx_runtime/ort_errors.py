"""The exceptions of ONNX Runtime: one of its own for every status, without a common base, or a plain RuntimeError."""

import onnxruntime as ort

ORT_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    *(
        value
        for value in vars(ort.capi.onnxruntime_pybind11_state).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ),
)
