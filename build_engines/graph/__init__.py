"""Writing ONNX graphs by hand: values with operators, layers, attention with a cache, sampling."""
