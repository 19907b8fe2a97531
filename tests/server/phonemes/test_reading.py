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
        ("et al. in the U.S. at 5 p.m.", "et al. in the U.S. at 5 p.m."),
    ],
)
def test_addresses(written: str, spoken: str) -> None:
    """Addresses and file names are read with their signs; abbreviations are left alone."""
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("785-7096", "7 8 5, 7 0 9 6"),
        ("1.800.555.0199", "1, 8 0 0, 5 5 5, 0 1 9 9"),
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
        ("UA123, H2O, MP3, COVID-19, F-16", "UA123, H2O, MP3, COVID-19, F-16"),
        ("GPT-4, US-101, INC-20931, AB-1234-C", "G.P.T. 4, U.S. 101, I.N.C. 2 0 9 3 1, A.B. 1 2 3 4 C."),
        ("493-027 but 100-200", "4 9 3, 0 2 7 but 100-200"),
        ("Your card number ends in 4471.", "Your card number ends in 4 4 7 1."),
        ("The lease ends in 2026.", "The lease ends in 2026."),
        ("The last four digits are 0042", "The last four digits are 0 0 4 2"),
        ("ZIP 90210, area code 415", "ZIP 9 0 2 1 0, area code 4 1 5"),
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
        ("$5-$10, $5–10", "5 dollars to 10 dollars, 5 to 10 dollars"),
        ("$1.5-2 million, C$5", "1.5 to 2 million dollars, 5 dollars"),
        ("$0.0042", "0.0042 dollars"),
        ("$1000000, $-5", "1,000,000 dollars, minus 5 dollars"),
        ("10 USD, 20 EUR, CAD 15", "10 dollars, 20 euros, 15 Canadian dollars"),
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
        ("2.5bn, 1M users", "2.5 billion, 1 million users"),
        ("Version v1.2.3", "version 1 point 2 point 3"),
        ("2.0, 1.50, 3.14", "2 point 0, 1 point 5 0, 3.14"),
        ("v2.0.1 at 10.0.0.1", "version 2 point 0 point 1 at 10 dot 0 dot 0 dot 1"),
        ("3 1/2 or 3½", "3 and 1/2 or 3 and ½"),
        ("-5 and 10-5", "minus 5 and 10-5"),
        ("100k, 3x, 2x4, 401k", "100 thousand, 3 times, 2 by 4, 401k"),
        ("5'11\" and 24/7", "5 feet 11 inches and 24 7"),
        ('a 32" TV, she said "I am 32" then', "a 32 inches TV, she said I am 32 then"),
        ("5 ft 11 in. and 6in", "5 feet 11 inches and 6 inches"),
        ("3-1=2, 10 - 4 = 6, 9/3=3", "3 minus 1=2, 10 minus 4 = 6, 9 divided by 3=3"),
        ("3:1 and 16:9, not 3:10", "3 to 1 and 16 to 9, not 3:10"),
        ("50-50", "50 50"),
        ("a 10/10, 9/10", "a 10 out of 10, 9/10"),
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
        ("2 tbsp, 1 tsp, 3 yrs, 1 yr.", "2 tablespoons, 1 teaspoon, 3 years, 1 year."),
        ("2 L, 220V, 60 W", "2 liters, 220 volts, 60 watts"),
        ("60 W 4th St.", "60 W 4th St."),
        ("3 mi. from here, 2 lbs. of tea", "3 mi from here, 2 lbs of tea"),
        ("Mon-Fri, Jan.–Mar.", "Monday to Friday, January to March"),
        ("Tue 12/3, Sat, Dec 5", "Tuesday 12/3, Saturday, Dec 5"),
        ("We sat 5 hours", "We sat 5 hours"),
        ("Springfield, IL.", "Springfield, Illinois."),
        ("Portland, OR 97201", "Portland, Oregon 9 7 2 0 1"),
        ("Well, OK. Or, IT.", "Well, OK. Or, IT."),
        ("9 Park Dr., with Dr. Smith", "9 Park Drive, with Dr. Smith"),
        ("A-Z, Ext. 42, p. 12", "A to Z, extension 42, page 12"),
        ("fruit, e.g. apples, i.e. food", "fruit, for example apples, that is food"),
        ("UTC-5", "UTC minus 5"),
        ("Jan 5–7, May 3-5, April 21-22", "January 5th to 7th, May 3rd to 5th, April 21st to 22nd"),
        (
            "2h 30m, 10 m², 3 km³, 3 m/s",
            "2 hours 30 minutes, 10 square meters, 3 cubic kilometers, 3 meters per second",
        ),
        ("EUR/USD 1.08", "EUR/USD 1.08"),
        ("due on 3/4, add 3/4 cup, on 13/40", "due on March 4, add 3/4 cup, on 13/40"),
        ("a != b && c == d", "a is not b and c equals d"),
    ],
)
def test_short_forms(written: str, spoken: str) -> None:
    """Units, days, states and abbreviations are written out where their neighbors tell what they are."""
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
        ("Thank you.Next please", "Thank you. Next please"),
        ("are you?I'm fine", "are you? I'm fine"),
        ("'Tis so", "Tis so"),
        ("~~~ Hello ~~~", "Hello"),
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
