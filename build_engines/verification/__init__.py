"""No bundle without proof: the torch networks against ONNX Runtime at the corners of every graph's shapes."""
