"""The thin layer over CUDA: one protocol, one implementation per Python package that can speak to the driver."""
