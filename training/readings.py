"""What the writing of a recognizer may stand for, in words: "$12.50" is said in several ways, and all are right.

A recognizer that hears "seven eight five" writes "785". To compare it with the words that should be heard, its text
becomes a row of slots, each with its possible readings; `alignment` takes the nearest ones.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable

from training.number_words import decimal_words, digit_words, money_words, number_words, pair_words, time_words

Reading = tuple[str, ...]
Slot = tuple[Reading, ...]

_NUMBER = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_TOKEN = re.compile(
    rf"(?P<money>[$€£¥₹]\s?(?:{_NUMBER})(?:\s(?:hundred|thousand|million|billion|trillion)\b)?)"
    r"|(?P<time>\d{1,2}:\d\d(?!\d))"
    r"|(?P<date>\b\d{4}-\d\d-\d\d\b|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b)"
    r"|(?P<day>(?i:\b\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:jan|febr)uary\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:march|april|may|june|july|august|(?:septem|octo|novem|decem)ber)\b))"
    r"|(?P<ordinal>(?:\d+,)*\d+(?:st|nd|rd|th)\b)"
    r"|(?P<decade>\d{2,4}'?s\b)"
    r"|(?P<points>\d+(?:\.\d+){2,})"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)*)"
    r"|(?P<sign>[%°#&@+=/_$-]|(?<=\w)\.(?=\w))"
)
_CURRENCIES = {
    "$": ("dollar", "cent"),
    "€": ("euro", "cent"),
    "£": ("pound", "pence"),
    "¥": ("yen", "sen"),
    "₹": ("rupee", "paisa"),
}
# Readings are parted by bars; an empty one is a sign that is not spoken.
_SIGNS = {
    "%": "percent", "°": "degrees", "#": "number|hash|hashtag|sharp|", "&": "and", "@": "at", "+": "plus|",
    "=": "equals", "/": "|slash|per|out of|over", "_": "|underscore", "$": "dollars", "-": "|minus|to|dash",
    ".": "|dot|point",
}  # fmt: skip
_SPELLED_OUT = {
    "mr": "mister", "mrs": "missus", "ms": "miss", "dr": "doctor|drive", "st": "saint|street",
    "apt": "apartment", "mt": "mount", "no": "no|number", "il": "illinois", "kg": "kilograms", "km": "kilometers",
    "m": "m|meters", "cm": "centimeters", "ml": "milliliters", "mg": "milligrams", "lb": "pounds", "lbs": "pounds",
    "ft": "feet", "mi": "miles", "mph": "miles per hour", "gb": "gigabytes", "mb": "megabytes", "f": "f|fahrenheit",
    "c": "c|celsius", "min": "minutes", "h": "h|hour", "k": "k|thousand", "x": "x|by|times", "tbsp": "tablespoons",
    "tsp": "teaspoons", "approx": "approximately", "jpeg": "j peg", "ii": "i i|two", "iv": "i v|four",
    "vs": "versus",
}  # fmt: skip
# Words that sound the same: no recognizer can tell which was said.
_HOMOPHONES = {
    "for": "four", "four": "for", "to": "two", "two": "to", "too": "to|two", "our": "are", "are": "our", "ate": "eight",
    "right": "write", "write": "right", "know": "no", "knew": "new", "pie": "pi", "be": "b", "bee": "b", "why": "y",
    "you": "u", "see": "c", "theatre": "theater", "won": "one", "buy": "by", "by": "buy",
    "here": "hear", "hear": "here", "their": "there", "there": "their", "wood": "would", "would": "wood", "sea": "see",
    "weak": "week",
}  # fmt: skip
_CONTRACTIONS = (
    ("won't", "will not"), ("can't", "can not"), ("cannot", "can not"), ("n't", " not"), ("'re", " are"),
    ("'ll", " will"), ("'ve", " have"), ("'m", " am"), ("'d", " would"), ("'s", " is"),
)  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_LONGEST_SPELLED = 8


def plain_words(text: str) -> list[str]:
    """Return the words of a spoken form: lower case, no accents, no punctuation, contractions written out."""
    folded = unicodedata.normalize("NFKD", text.replace("\u2019", "'")).casefold()
    folded = "".join(char for char in folded if not unicodedata.combining(char))
    folded = re.sub(r"[^a-z']+", " ", folded)
    for short, long in _CONTRACTIONS:
        folded = folded.replace(short, long)
    return ["okay" if word == "ok" else word for word in folded.replace("'", "").split()]


def slots(text: str) -> list[Slot]:
    """Return the readings of a recognizer's text, part by part, in order."""
    found = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFC", text)):
        readings = _READ[match.lastgroup or ""](match.group())
        found.append(tuple(dict.fromkeys(tuple(plain_words(reading)) for reading in readings)))
    return found


def _money(text: str) -> Iterable[str]:
    amount, _, scale = text[1:].strip().partition(" ")
    unit, subunit = _CURRENCIES[text[0]]
    if scale:
        return [f"{decimal_words(amount)} {scale} {unit}s"]
    amount = amount if amount[0].isdigit() else f"0{amount}"
    whole = amount.partition(".")[0]
    return [money_words(amount, unit, subunit), *(f"{reading} {unit}s" for reading in _number(whole)), *_number(amount)]


def _time(text: str) -> Iterable[str]:
    hour, minute = text.split(":")
    clock = time_words(text)
    ratio = f"{number_words(int(hour))} to {number_words(int(minute))}"
    return [clock, f"{clock} o'clock", clock.replace(" oh ", " o "), ratio]


def _date(text: str) -> Iterable[str]:
    parts = [int(part) for part in re.findall(r"\d+", text)]
    if "-" in text:
        parts = [*parts[1:], parts[0]]
    month, day, *year = parts
    cardinals = [number_words(month), number_words(day)]
    readings = [" ".join(cardinals), " slash ".join(cardinals), " out of ".join(cardinals), " over ".join(cardinals)]
    if 0 < month < 13 and day:
        readings.append(
            " ".join([_MONTHS[month - 1], number_words(day, "ordinal"), *(number_words(y, "year") for y in year)])
        )
    if day > 1:
        bottom = {2: "half", 4: "quarter"}.get(day, number_words(day, "ordinal"))
        bottoms = [bottom, number_words(day, "ordinal")]
        readings += [f"{number_words(month)} {name}{'' if month == 1 else 's'}" for name in bottoms]
        readings += [bottom, f"a {bottom}"] if month == 1 else []
    return readings


def _day(text: str) -> Iterable[str]:
    day, month = int(re.sub(r"\D", "", text)), text.split()[-1]
    ordinal = number_words(day, "ordinal")
    return [f"the {ordinal} of {month}", f"{ordinal} of {month}", f"{number_words(day)} {month}"]


def _ordinal(text: str) -> Iterable[str]:
    return [number_words(int(re.sub(r"\D", "", text)), "ordinal")]


def _decade(text: str) -> Iterable[str]:
    spoken = number_words(int(re.sub(r"\D", "", text)), "year")
    return [f"{spoken[:-1]}ies" if spoken.endswith("y") else f"{spoken}s", f"{spoken} s"]


def _points(text: str) -> Iterable[str]:
    parts = text.split(".")
    ways: tuple[Callable[[str], str], ...] = (decimal_words, pair_words, digit_words)
    return [f" {sign} ".join(way(part) for part in parts) for sign in ("dot", "point") for way in ways]


def _number(text: str) -> list[str]:
    if "." in text:
        text = text if text[0].isdigit() else f"0{text}"
        decimal = decimal_words(text)
        return [decimal, decimal_words(text, "oh"), decimal.removeprefix("zero "), pair_words(re.sub(r"\D", "", text))]
    digits = text.replace(",", "")
    value, cardinal = int(digits), number_words(int(digits))
    readings = [
        cardinal,
        cardinal.replace("one hundred", "a hundred"),
        re.sub(r"hundred (?=\w)", "hundred and ", cardinal),
    ]
    if "," not in text:
        readings += [digit_words(digits), digit_words(digits, "oh"), digit_words(digits, "o"), pair_words(digits)]
    if value < 32:
        readings.append(number_words(value, "ordinal"))
    if 1000 <= value < 10_000 and "," not in text:
        readings += [number_words(value, "year"), f"{number_words(value // 100)} hundred {number_words(value % 100)}"]
    return readings


def _word(text: str) -> Iterable[str]:
    known = [table[text.casefold()] for table in (_SPELLED_OUT, _HOMOPHONES) if text.casefold() in table]
    readings = [text, *(reading for item in known for reading in item.split("|"))]
    letters = " ".join(text)
    is_capital = text[0].isupper() and len(text) <= _LONGEST_SPELLED and text.isalpha()
    return [*readings, letters] if is_capital else readings


def _sign(text: str) -> Iterable[str]:
    return _SIGNS[text].split("|")


_READ: dict[str, Callable[[str], Iterable[str]]] = {
    "money": _money,
    "time": _time,
    "date": _date,
    "day": _day,
    "ordinal": _ordinal,
    "decade": _decade,
    "points": _points,
    "number": _number,
    "word": _word,
    "sign": _sign,
}
