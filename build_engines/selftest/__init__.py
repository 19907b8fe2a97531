"""Proof on the operator's own machine: a bundle on its engine beside ONNX Runtime, correctness first, then speed."""
