"""The table of the voice's figures, and its bars."""

import pytest

from training.evaluate_table import Figures, bars, table

GOOD = [
    Figures("voice", "eval-20", 60, 1.5, 3.0, 1.5, 4.47),
    Figures("voice", "agent-200", 200, 2.0, 2.5, 12.4, 4.47),
    Figures("teacher", "eval-20", 20, 9.0, 9.0, 9.0, 1.0),
]


def test_every_figure_has_a_row() -> None:
    """One line for each, under a heading."""
    assert table(GOOD).splitlines()[2:] == [
        "| voice | eval-20 | 60 | 1.5 | 3.0 | 1.5 | 4.47 |",
        "| voice | agent-200 | 200 | 2.0 | 2.5 | 12.4 | 4.47 |",
        "| teacher | eval-20 | 20 | 9.0 | 9.0 | 9.0 | 1.00 |",
    ]


def test_bars_that_hold() -> None:
    """Only the voice is measured by them, not the teacher."""
    assert [line.split("|")[-2].strip() for line in bars(GOOD).splitlines()[2:]] == ["pass", "pass", "pass"]


@pytest.mark.parametrize(
    ("figures", "verdicts"),
    [
        (Figures("voice", "eval-20", 60, 3.01, 0.0, 0.0, 4.0), ["FAIL", "pass"]),
        (Figures("voice", "eval-20", 60, 3.0, 9.0, 9.0, 3.99), ["pass", "FAIL"]),
        (Figures("voice", "agent-200", 200, 5.1, 0.0, 0.0, 5.0), ["FAIL"]),
        (Figures("voice", "held-out-50", 50, 99.0, 99.0, 99.0, 1.0), []),
    ],
)
def test_bars_that_fail(figures: Figures, verdicts: list[str]) -> None:
    """An error above its limit and an opinion below it fail; a list without a bar has no line."""
    assert [line.split("|")[-2].strip() for line in bars([figures]).splitlines()[2:]] == verdicts


def test_the_mean_of_all_voices_has_a_bar_of_its_own() -> None:
    """Every voice of the bundle counts, codec and teacher do not."""
    others = [Figures(f"voice {name}", "eval-20", 20, 1.0, 1.0, 1.0, mos) for name, mos in (("a", 3.0), ("b", 3.33))]
    line = bars([*GOOD, *others]).splitlines()[-1]

    assert "| DistillMOS, mean of all voices | eval-20 | >= 3.6 | 3.60 | pass |" == line
    assert bars([*GOOD, *others, others[0]]).endswith("| FAIL |")
