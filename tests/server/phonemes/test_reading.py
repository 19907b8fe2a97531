"""How text is read aloud: the table of rules."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.phonemes.aligned_text import AlignedText
from server.phonemes.reading import make_readable
from server.phonemes.speakable import keep_speakable


def read(original: str) -> str:
    """Return how a text is read."""
    text = AlignedText(original)
    keep_speakable(text, original)
    make_readable(text, original)
    return text.text.strip()


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("**Bold**, *it*, _it_, `code`, ~~no~~", "Bold, it, it, code, no"),
        ("## Heading", "Heading"),
        ("- one\n* two\n• three", "one two three"),
        ("1. First\n2) Second", "1, First 2, Second"),
        ("> quoted\n---\nafter", "quoted after"),
        ("[the docs](https://a.com/x) and ![a cat](cat.png)", "the docs and a cat"),
        ("2 * 3, snake_case, C# or F#", "2 times 3, snake_case, C sharp or F sharp"),
        ('<speak>Hi <break time="1s"/> you</speak>', "Hi you"),
        ("if a < b and c > d", "if a < b and c > d"),
    ],
)
def test_markup(written: str, spoken: str) -> None:
    """What markdown and tags leave behind is not read; what only looks like them is."""
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("https://www.example.com/a_b?x=1", "example dot com slash a underscore b question mark x equals 1"),
        ("Go to example.com/.", "Go to example dot com."),
        ("john.doe@example.co.uk", "john dot doe at example dot co dot uk"),
        ("report.pdf, node.js and .NET", "report dot pdf, node dot js and dot NET"),
        ("e.g. the U.S. at 5 p.m.", "e.g. the U.S. at 5 p.m."),
    ],
)
def test_addresses(written: str, spoken: str) -> None:
    """Addresses and file names are read with their signs; abbreviations are left alone."""
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("785-7096", "7 8 5, 7 0 9 6"),
        ("(415) 555-0123", "4 1 5, 5 5 5, 0 1 2 3"),
        ("+44 20 7946 0958", "plus 4 4, 2 0, 7 9 4 6, 0 9 5 8"),
        ("1-800-555-1234", "1, 8 0 0, 5 5 5, 1 2 3 4"),
        ("4111 1111 1111 1111", "4 1 1 1, 1 1 1 1, 1 1 1 1, 1 1 1 1"),
        ("12345678", "1 2 3, 4 5 6, 7 8"),
        ("007", "0 0 7"),
        ("call 911", "call 9 1 1"),
        ("12345", "12345"),
        ("10 000 and 1,234", "10,000 and 1,234"),
        ("9" * 40, ", ".join(["9 9 9"] * 12 + ["9 9 9 9"])),
        ("A1B2C3, AB12CD34", "A-1-B-2-C-3, A-B-1-2-C-D-3-4"),
        ("UA123, H2O, MP3, GPT-4, COVID-19", "UA123, H2O, MP3, GPT-4, COVID-19"),
        ("A B C D", "A-B-C-D"),
        ("4-V-Y-N-D", "4-V-Y-N-D"),
    ],
)
def test_digits_and_codes(written: str, spoken: str) -> None:
    """Phone numbers, card numbers and long numbers are read by digits, codes by letters; plain numbers stay."""
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("$5.00, $1, $0.99, $0.01", "5 dollars, 1 dollar, 99 cents, 1 cent"),
        ("$1,250.50", "1,250 dollars and 50 cents"),
        ("£9.99 and €1.5", "9 pounds and 99 pence and 1 euro and 50 cents"),
        ("$3.5 million, $100k, €3bn", "3.5 million dollars, 100 thousand dollars, 3 billion euros"),
        ("-$20, US$5, 5€, $", "minus 20 dollars, 5 dollars, 5 euros, dollars"),
        ("$5/month or $60/yr", "5 dollars per month or 60 dollars per year"),
        ("$5-$10", "5 dollars to 10 dollars"),
        ("$0.0042", "0.0042 dollars"),
    ],
)
def test_money(written: str, spoken: str) -> None:
    """Money is read with its unit where people say it."""
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("9:00–17:00", "9:00 to 17:00"),
        ("9am-5pm", "9am to 5pm"),
        ("8.30pm", "8:30pm"),
        ("5–10%", "5 to 10%"),
        ("2.0, 1.50, 3.14", "2 point 0, 1 point 5 0, 3.14"),
        ("v2.0.1 at 10.0.0.1", "version 2 point 0 point 1 at 10 dot 0 dot 0 dot 1"),
        ("3 1/2 or 3½", "3 and 1/2 or 3 and ½"),
        ("-5 and 10-5", "minus 5 and 10-5"),
        ("100k, 3x, 2x4, 401k", "100 thousand, 3 times, 2 by 4, 401k"),
        ("5'11\" and 24/7", "5 feet 11 inches and 24 7"),
        ("1,2,3", "1, 2, 3"),
        ("03-05-2024, 2024-03-05", "03/05/2024, 2024-03-05"),
    ],
)
def test_numbers(written: str, spoken: str) -> None:
    """Ranges, versions, fractions and measures are read as people say them."""
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("so -- yes — no – maybe - ok", "so, yes, no, maybe, ok"),
        ("see (the aside) there", "see, the aside, there"),
        ("well... yes... no...", "well, yes, no ."),
        ("what?!?! no!!! so,,,", "what? no! so,"),
        ("'It's yes,' and “rock 'n' roll” don't", "It's yes, and rock and roll don't"),
        ("the dogs' bones and '80s", "the dogs' bones and '80s"),
        ("item(s), Hi,there", "items, Hi, there"),
        (", so", "so"),
        ("a\n  b", "a b"),
        ("I said no.", "I said no ."),
    ],
)
def test_punctuation(written: str, spoken: str) -> None:
    """The voice gets only punctuation it knows, and one sign at a time."""
    assert read(written) == spoken


@given(st.text("abAB12 .,:;!?-—()[]*_#\"'/$€%@\n", max_size=60))
def test_any_text_is_read(original: str) -> None:
    """Reading never fails, whatever the text is."""
    assert isinstance(read(original), str)


def test_long_white_space_is_no_burden() -> None:
    """A hundred thousand spaces between two words are one."""
    assert read("a" + " " * 100_000 + "b") == "a b"
