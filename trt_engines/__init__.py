"""Running compiled networks: bundles, tensors and the backends. Knows no text, no gRPC and no torch."""
