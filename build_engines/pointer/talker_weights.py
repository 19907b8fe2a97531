"""Folds a talker checkpoint into the plain tables its graphs use, and back."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from build_engines.networks.pointer_talker_config import WINDOW, PointerTalkerConfig
from build_engines.pointer.row_table import RowTable

Array = npt.NDArray[np.float32]
Arrays = Mapping[str, Array]

UNCHANGED = ("phoneme.", "slow.", "slow_norm.", "advance_head.", "fast_in.", "fast.", "fast_norm.")
"""Beginnings of the names of what the graphs hold as the network does."""


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
    folded = {name: array for name, array in weights.items() if name.startswith(UNCHANGED)}
    folded["rows"] = table.rows(weights, [_fold_codes(weights, "code_in", book, config.levels) for book in books])
    windows = [weights[f"fast_window.tables.{index}.weight"] for index in range(len(WINDOW))]
    folded["fast_rows"] = np.concatenate([*windows, weights["fast_advance.weight"]])
    for book in books:
        folded[f"fast_code_in.{book}"] = _fold_codes(weights, "fast_code_in", book, config.levels)
        folded[f"code_out.{book}"] = _fold_codes(weights, "code_out", book, config.levels)
    return folded


def unfold_talker(folded: Arrays, config: PointerTalkerConfig) -> dict[str, Array]:
    """Return a state of `PointerTalker` that folds into the same arrays, bit for bit.

    The code tables come out whole in `free`, since their parts are lost. `folded` lacks the last fast table, which no
    graph reads.
    """
    books, size = range(config.codebook_count), len(fsq_digits(config.levels))
    windows = len(WINDOW) * (config.phoneme_count + 1)
    state = {name: array for name, array in folded.items() if name.startswith(UNCHANGED)}
    embeddings, codes_in = RowTable(config, size).parts(folded["rows"])
    state |= embeddings
    for index, table in enumerate(np.split(folded["fast_rows"][:windows], len(WINDOW))):
        state[f"fast_window.tables.{index}.weight"] = table
    state["fast_advance.weight"] = folded["fast_rows"][windows:]
    unread = np.zeros((size, config.fast.width), np.float32)
    state |= _unfold_codes("code_in", codes_in, config.levels)
    state |= _unfold_codes(
        "fast_code_in", [folded.get(f"fast_code_in.{book}", unread) for book in books], config.levels
    )
    return state | _unfold_codes("code_out", [folded[f"code_out.{book}"] for book in books], config.levels)


def _unfold_codes(name: str, tables: list[Array], levels: tuple[int, ...]) -> dict[str, Array]:
    books, width = len(tables), tables[0].shape[-1]
    zeros = {f"per_digit.{index}": np.zeros((books, level, width), np.float32) for index, level in enumerate(levels)}
    zeros["linear"] = np.zeros((books, len(levels), width), np.float32)
    return {f"{name}.free": np.stack(tables)} | {f"{name}.{part}": array for part, array in zeros.items()}


def _fold_codes(weights: Arrays, name: str, book: int, levels: tuple[int, ...]) -> Array:
    summed = weights[f"{name}.free"][book] + fsq_scalars(levels) @ weights[f"{name}.linear"][book]
    for index, digits in enumerate(fsq_digits(levels).T):
        summed = summed + weights[f"{name}.per_digit.{index}"][book][digits]
    return np.asarray(summed, np.float32)
