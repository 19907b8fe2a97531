"""Folds a talker checkpoint into the plain tables its graphs use."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from build_engines.networks.pointer_talker_config import WINDOW, PointerTalkerConfig
from build_engines.pointer.row_table import RowTable

Array = npt.NDArray[np.float32]
Arrays = Mapping[str, Array]

_UNCHANGED = ("phoneme.", "slow.", "slow_norm.", "advance_head.", "fast_in.", "fast.", "fast_norm.")


def fsq_digits(levels: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return the digits [codes, len(levels)] of every code, the first digit running fastest."""
    codes = np.arange(int(np.prod(levels)))[:, None]
    basis = np.cumprod([1, *levels[:-1]])
    digits: npt.NDArray[np.int64] = codes // basis % np.asarray(levels)
    return digits


def fsq_scalars(levels: tuple[int, ...]) -> Array:
    """Return the scalars float32 [codes, len(levels)], about -1 to 1, that every code stands for."""
    half = np.asarray(levels) // 2
    return np.asarray((fsq_digits(levels) - half) / half, np.float32)


def fold_talker(weights: Arrays, config: PointerTalkerConfig) -> dict[str, Array]:
    """Fold the state of a `PointerTalker`.

    Returns:
        The transformers and heads under their own names, and
        `rows`: the one table of `RowTable`; `fast_rows`: the fast window tables and the fast advance table, stacked;
        `fast_code_in.<k>` and `code_out.<k>`: [codebook_size, width] for each codebook.
    """
    books = range(config.codebook_count)
    table = RowTable(config, len(fsq_digits(config.levels)))
    folded = {name: array for name, array in weights.items() if name.startswith(_UNCHANGED)}
    folded["rows"] = table.rows(weights, [_fold_codes(weights, "code_in", book, config.levels) for book in books])
    windows = [weights[f"fast_window.tables.{index}.weight"] for index in range(len(WINDOW))]
    folded["fast_rows"] = np.concatenate([*windows, weights["fast_advance.weight"]])
    for book in books:
        folded[f"fast_code_in.{book}"] = _fold_codes(weights, "fast_code_in", book, config.levels)
        folded[f"code_out.{book}"] = _fold_codes(weights, "code_out", book, config.levels)
    return folded


def _fold_codes(weights: Arrays, name: str, book: int, levels: tuple[int, ...]) -> Array:
    summed = weights[f"{name}.free"][book] + fsq_scalars(levels) @ weights[f"{name}.linear"][book]
    for index, digits in enumerate(fsq_digits(levels).T):
        summed = summed + weights[f"{name}.per_digit.{index}"][book][digits]
    return np.asarray(summed, np.float32)
