"""The ONNX Runtime backend: CPU sessions on memory that outlives a call."""
