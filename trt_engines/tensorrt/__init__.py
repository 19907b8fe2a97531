"""Running TensorRT plans on one GPU: one adapter over `tensorrt` and `tensorrt_rtx`."""
