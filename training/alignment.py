"""The words that should be heard beside those that a recognizer wrote, with the fewest differences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from training.readings import Reading, plain_words, slots

Pair = tuple[str | None, str | None]
"""A word that should be heard and the one that was: None for a word too many, or for one missing."""


@dataclass(frozen=True)
class _Path:
    """The cheapest way to a place of the table.

    Attributes:
        cost: differences so far.
        before: the way to the place before.
        pair: what was set side by side last.
    """

    cost: int
    before: "_Path | None" = None
    pair: Pair = (None, None)

    def then(self, expected: str | None, heard: str | None) -> "_Path":
        """Return the way one pair further."""
        return _Path(self.cost + (expected != heard), self, (expected, heard))


@dataclass(frozen=True)
class Alignment:
    """Two rows of words, side by side.

    Attributes:
        pairs: in order.
    """

    pairs: tuple[Pair, ...]

    @cached_property
    def expected(self) -> list[str]:
        """The words that should be heard."""
        return [expected for expected, _ in self.pairs if expected is not None]

    @cached_property
    def heard(self) -> list[str]:
        """The words that were heard, in the readings that fit best."""
        return [heard for _, heard in self.pairs if heard is not None]

    @cached_property
    def differences(self) -> list[list[Pair]]:
        """The stretches of pairs that differ; those that are only parted into words in another way are left out."""
        return [stretch for stretch in _stretches(self.pairs) if _joined(stretch, 0) != _joined(stretch, 1)]

    @cached_property
    def error_count(self) -> int:
        """Words wrong, missing or too many."""
        return sum(len(stretch) for stretch in self.differences)


def align(spoken: str, heard: str) -> Alignment:
    """Set the spoken form of a text beside what a recognizer wrote, in the readings nearest to it."""
    expected = plain_words(spoken)
    column = [_Path(0)]
    for word in expected:
        column.append(column[-1].then(word, None))
    for slot in slots(heard):
        ways = [_through(column, expected, reading) for reading in slot]
        column = [min(paths, key=lambda path: path.cost) for paths in zip(*ways, strict=True)]
    return Alignment(tuple(_pairs(column[-1])))


def word_error(alignments: Sequence[Alignment]) -> float:
    """Return the word error rate of all together, as a share of the words that should be heard."""
    return sum(item.error_count for item in alignments) / max(1, sum(len(item.expected) for item in alignments))


def _through(column: list[_Path], expected: list[str], reading: Reading) -> list[_Path]:
    """Return the table's column behind the words of one reading."""
    for word in reading:
        new = [column[0].then(None, word)]
        for place, wanted in enumerate(expected):
            ways = (
                column[place].then(wanted, word),
                column[place + 1].then(None, word),
                new[place].then(wanted, None),
            )
            new.append(min(ways, key=lambda path: path.cost))
        column = new
    return column


def _pairs(path: _Path) -> list[Pair]:
    pairs = []
    while path.before is not None:
        pairs.append(path.pair)
        path = path.before
    return pairs[::-1]


def _stretches(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    stretch: list[Pair] = []
    for pair in pairs:
        if pair[0] != pair[1]:
            stretch.append(pair)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _joined(stretch: Sequence[Pair], side: int) -> str:
    return "".join(pair[side] or "" for pair in stretch)
