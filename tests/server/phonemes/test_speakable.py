"""Which characters are spoken, replaced, reported or ignored."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.phonemes.aligned_text import AlignedText
from server.phonemes.speakable import keep_speakable


def keep(original: str) -> tuple[str, tuple[str, ...]]:
    """Return what is left of a text, and what was reported."""
    text = AlignedText(original)
    unspoken = keep_speakable(text, original)
    return text.text, unspoken


@pytest.mark.parametrize(
    ("original", "spoken"),
    [
        ("plain ASCII, 100%!", "plain ASCII, 100%!"),
        ("café Łódź", "café Łódź"),
        ("cafe\u0301", "café"),
        ("Ṽẽ Ũ İ", "Ve U I"),
        ("‘so’ „so“ «so»", '\'so\' "so“ "so"'),
        ("a–b—c−d", "a—b—c-d"),
        ("ﬁne ＡＢＣ ② Ⅳ 𝐛𝐨𝐥𝐝", "fine ABC 2 IV bold"),
        ("٣ and ३", "3 and 3"),
        ("x² 10⁵ 10¹² ½ ⅔", "x² 10^5 10^12 ½  2/3"),
        ("5 μm, π", "5 µm,  pi "),
        ("ready。 ok！", "ready.  ok!"),
        ("AT&amp;T &lt;b&gt; &#39; &bogus;", "AT&T <b> ' &bogus;"),
        ("a\u00a0b\u202fc\td", "a b c d"),
        ("a\u200bb\ufeff\u00ad\x00\x07c", "abc"),
        ("a\r\nb\u2028c", "a\nb\nc"),
        ("1\ufe0f\u20e3", "1"),
    ],
)
def test_spoken_forms(original: str, spoken: str) -> None:
    """What has a plain form is spoken in it; formatting leaves no trace; nothing of it is reported."""
    assert keep(original) == (spoken, ())


@pytest.mark.parametrize(
    ("original", "spoken", "unspoken"),
    [
        ("great 👍!", "great  !", ("👍",)),
        ("family 👩‍👩‍👧 ok", "family     ok", ("👩‍👩‍👧",)),
        ("❤️", " ", ("❤️",)),
        ("say 你好 and привет", "say    and       ", ("你好", "привет")),
        ("αβγ", "   ", ("αβγ",)),
        ("a🙂🙂b", "a  b", ("🙂🙂",)),
    ],
)
def test_unspoken_is_reported(original: str, spoken: str, unspoken: tuple[str, ...]) -> None:
    """What the voice cannot speak is taken out and reported as it was written, neighbors together."""
    assert keep(original) == (spoken, unspoken)


@given(st.text(max_size=40))
def test_nothing_vanishes_unreported(original: str) -> None:
    """Every letter, digit and symbol is either kept in some form or part of the report."""
    spoken, unspoken = keep(original)

    assert all(char.isascii() or char.isalpha() or char in "€£¥₹₩¢°§±×÷©→½¼¾²³µ“”—•" for char in spoken)
    if not spoken.strip() and not unspoken:
        assert not any(unicodedata.category(char)[0] in "LN" for char in original)


@pytest.mark.parametrize("first", range(0, 0x30000, 0x3000))
def test_every_character_has_a_fate(first: int) -> None:
    """No letter or number of Unicode is silently ignored."""
    for code in range(first, min(first + 0x3000, sys.maxunicode), 7):
        char = chr(code)
        if unicodedata.category(char)[0] in "LN":
            spoken, unspoken = keep(char)
            assert spoken.strip() or unspoken == (char,)
