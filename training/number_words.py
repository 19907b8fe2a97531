"""Numbers, money and times of day in American words: what a listener should hear."""

import re
from functools import cache

from num2words import num2words


@cache
def number_words(value: int, kind: str = "cardinal") -> str:
    """Return a whole number in words; `kind` is cardinal, ordinal or year."""
    return str(num2words(value, to=kind)).replace(",", "").replace(" and ", " ").replace("-", " ")


def digit_words(digits: str, zero: str = "zero") -> str:
    """Return digits one by one; anything else is passed over."""
    return " ".join(zero if digit == "0" else number_words(int(digit)) for digit in digits if digit.isdigit())


def pair_words(digits: str) -> str:
    """Return digits in pairs: 815 as "eight fifteen", 1405 as "fourteen oh five"."""
    odd = len(digits) % 2
    pairs = [digits[:odd]] * odd + re.findall("..", digits[odd:])
    return " ".join(("oh " if len(pair) == 2 and pair[0] == "0" else "") + number_words(int(pair)) for pair in pairs)


def decimal_words(number: str, zero: str = "zero") -> str:
    """Return a decimal number, its thousands parted by commas, in words."""
    whole, _, fraction = number.replace(",", "").partition(".")
    return number_words(int(whole)) + (f" point {digit_words(fraction, zero)}" if fraction else "")


def money_words(amount: str, unit: str = "dollar", subunit: str = "cent") -> str:
    """Return an amount such as "1,250.50" in words."""
    whole, _, fraction = amount.replace(",", "").partition(".")
    units, subunits = int(whole), int(fraction.ljust(2, "0")[:2])
    parts = [f"{number_words(units)} {_counted(unit, units)}"] if units or not subunits else []
    parts += [f"{number_words(subunits)} {_counted(subunit, subunits)}"] if subunits else []
    return " and ".join(parts)


def time_words(clock: str) -> str:
    """Return a time of day such as "7:05" in words."""
    hour, minute = clock.split(":")
    if minute == "00":
        return number_words(int(hour))
    return f"{number_words(int(hour))} {'oh ' if minute[0] == '0' else ''}{number_words(int(minute))}"


def _counted(unit: str, count: int) -> str:
    return unit if count == 1 or unit in ("pence", "yen") else f"{unit}s"
