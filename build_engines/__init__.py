"""Makes voice bundles: torch networks, checkpoint loading, ONNX export, TensorRT plans, verification."""
