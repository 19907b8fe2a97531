"""The `pointer` family as graphs: rows, prefill, step and stop rule of the default voice's talker."""
