"""From a bundle's ONNX graphs to TensorRT plans: half precision, static shapes, the build itself and its proof."""
