"""Sentences of the kind voice agents speak, made from the templates in `data/agent_templates.toml` with a fixed seed.

The public-domain sources of `texts.py` lack questions, numbers, money, times, names, greetings, spelled codes and
one-word answers; this module supplies them.
"""

import random
import tomllib
from functools import cache
from pathlib import Path

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def words() -> dict[str, list[str]]:
    """Return the word lists and patterns by name."""
    return tomllib.loads((Path(__file__).parent / "data" / "agent_templates.toml").read_text())


def agent_sentences(count: int, seed: int = 20) -> list[str]:
    """Return `count` different sentences: the short answers first, then filled templates."""
    rng = random.Random(seed)
    sentences = dict.fromkeys(words()["short_answers"])
    while len(sentences) < count:
        sentences[_fill(rng.choice(words()["patterns"]), rng)] = None
    return list(sentences)[:count]


def _fill(pattern: str, rng: random.Random) -> str:
    hour, minute = rng.randint(1, 12), rng.choice(("00", "15", "30", "45", "05", "20", "50"))
    fields = {
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
    return pattern.format(**fields)
