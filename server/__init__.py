"""The server: text arrives over gRPC, speech leaves while it is being made. Top file first: `__main__`."""
