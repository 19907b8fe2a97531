"""The default voice's vocoder as a graph: codes and a packed state in, samples and the next state out."""
