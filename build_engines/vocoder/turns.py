"""Sine and cosine of angles in turns, from additions and products alone.

Kernels of `Sin` and `Cos` may compute the last elements of an array otherwise than the others, so that samples would
depend on how a stream was cut into calls; correctly rounded products cannot.
"""

import math

from build_engines.graph.value import Value

_SINE_TERMS = 6
_COSINE_TERMS = 7


def centered(turns: Value) -> Value:
    """Return the same angle in [-0.5, 0.5] turns."""
    return turns - turns.graph.op("Round", [turns])


def half_turn_sine(halves: Value) -> Value:
    """Return sin(pi * x) of x in [-0.5, 0.5]; the error is below 1e-7."""
    series = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(_SINE_TERMS)]
    return _series(halves * halves, series) * halves


def half_turn_cosine(halves: Value) -> Value:
    """Return cos(pi * x) of x in [-0.5, 0.5]; the error is below 1e-7."""
    series = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(_COSINE_TERMS)]
    return _series(halves * halves, series)


def sine(turns: Value) -> Value:
    """Return sin(2 * pi * x) of x in [-0.5, 0.5]."""
    return half_turn_sine(turns) * half_turn_cosine(turns) * 2.0


def cosine_sine(turns: Value) -> tuple[Value, Value]:
    """Return cos(2 * pi * x) and sin(2 * pi * x) of x in [-0.5, 0.5]."""
    half = half_turn_sine(turns)
    return half * half * -2.0 + 1.0, half * half_turn_cosine(turns) * 2.0


def _series(square: Value, coefficients: list[float]) -> Value:
    """Evaluate a power series in `square` by Horner's rule."""
    total = square * coefficients[-1] + coefficients[-2]
    for coefficient in reversed(coefficients[:-2]):
        total = total * square + coefficient
    return total
