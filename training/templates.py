"""Sentences of the kind voice agents speak, made from the templates in `data/agent_templates.toml` with a fixed seed.

The public-domain sources of `texts.py` lack questions, numbers, money, times, names, greetings, spelled codes and
one-word answers; this module supplies them, and what a listener should hear of each.
"""

import random
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from training.number_words import decimal_words, digit_words, money_words, number_words, time_words

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def words() -> dict[str, list[str]]:
    """Return the word lists and patterns by name."""
    return tomllib.loads((Path(__file__).parent / "data" / "agent_templates.toml").read_text())


def agent_sentences(count: int, seed: int = 20) -> list[str]:
    """Return `count` different sentences: the short answers first, then filled templates."""
    return [written for written, _ in agent_utterances(count, seed)]


def agent_utterances(count: int, seed: int) -> list[tuple[str, str]]:
    """Return the sentences of `agent_sentences`, each with the words that it is spoken as."""
    rng = random.Random(seed)
    spoken = {answer: answer for answer in words()["short_answers"]}
    while len(spoken) < count:
        pattern = rng.choice(words()["patterns"])
        fields = _fields(rng)
        spoken[pattern.format(**fields)] = _spoken_form(pattern, fields)
    return list(spoken.items())[:count]


def _fields(rng: random.Random) -> dict[str, str]:
    hour, minute = rng.randint(1, 12), rng.choice(("00", "15", "30", "45", "05", "20", "50"))
    return {
        "name": rng.choice(words()["names"]),
        "surname": rng.choice(words()["surnames"]),
        "city": rng.choice(words()["cities"]),
        "city2": rng.choice(words()["cities"]),
        "day": rng.choice(words()["days"]),
        "day2": rng.choice(words()["days"]),
        "month": rng.choice(words()["months"]),
        "dom": str(rng.randint(1, 28)),
        "year": str(rng.randint(1900, 2029)),
        "time": rng.choice((f"{hour}:{minute} {rng.choice(('a.m.', 'p.m.'))}", f"{hour} o'clock", f"{hour}:{minute}")),
        "money": rng.choice((f"${rng.randint(1, 999)}.{rng.randint(1, 99):02d}", f"${rng.randint(2, 90000):,}")),
        "percent": f"{rng.randint(1, 99)}%",
        "number": f"{rng.choice((rng.randint(13, 999), rng.randint(1000, 99999))):,}",
        "small": str(rng.randint(2, 12)),
        "small2": str(rng.randint(13, 60)),
        "room": str(rng.randint(101, 999)),
        "decimal": f"{rng.randint(0, 99)}.{rng.randint(1, 9)}",
        "degrees": str(rng.randint(5, 99)),
        "phone": ", ".join(" ".join(rng.choices("0123456789", k=k)) for k in (3, 4)),
        "code": "-".join(rng.choice(_LETTERS + "23456789") for _ in range(rng.randint(3, 6))),
        "spell": "-".join(rng.choice(_LETTERS) for _ in range(rng.randint(3, 7))),
        "sky": rng.choice(words()["skies"]),
        "item": rng.choice(words()["items"]),
        "item2": rng.choice(words()["items"]),
        "thing": rng.choice(words()["things"]),
        "adj": rng.choice(words()["adjectives"]),
        "verb": rng.choice(words()["verbs"]),
        "verb2": rng.choice(words()["verbs"]),
    }


def _spoken_form(pattern: str, fields: dict[str, str]) -> str:
    """Fill a template with what a listener should hear."""
    for written, spoken in _TITLES.items():
        pattern = pattern.replace(written, spoken)
    heard = {name: _SPOKEN.get(name, str)(value) for name, value in fields.items()}
    return pattern.format(**heard)


def _time(written: str) -> str:
    clock, _, half = written.partition(" ")
    if half == "o'clock":
        return f"{number_words(int(clock))} o'clock"
    on_the_hour = " o'clock" if clock.endswith("00") and not half else ""
    return f"{time_words(clock)}{on_the_hour} {half.replace('.', ' ')}"


def _letters(written: str) -> str:
    return " ".join(digit_words(sign) if sign.isdigit() else sign for sign in written.replace("-", ""))


_TITLES = {"Dr.": "doctor", "Mr.": "mister", "Mrs.": "missus"}
_SPOKEN: dict[str, Callable[[str], str]] = {
    "dom": lambda written: number_words(int(written), "ordinal"),
    "year": lambda written: number_words(int(written), "year"),
    "time": _time,
    "money": lambda written: money_words(written[1:]),
    "percent": lambda written: f"{number_words(int(written[:-1]))} percent",
    "number": decimal_words,
    "small": decimal_words,
    "small2": decimal_words,
    "room": decimal_words,
    "decimal": decimal_words,
    "degrees": decimal_words,
    "phone": digit_words,
    "code": _letters,
    "spell": _letters,
}
