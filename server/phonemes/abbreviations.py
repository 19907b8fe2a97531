"""Short forms that need their neighbors to be read: units, currencies, days, states, parts of addresses and codes."""

import re

_UNITS = {
    "tbsp": "tablespoon", "Tbsp": "tablespoon", "tsp": "teaspoon", "yr": "year", "yrs": "year", "wk": "week",
    "wks": "week", "mo": "month", "mos": "month", "gal": "gallon", "qt": "quart", "L": "liter", "mL": "milliliter",
    "dL": "deciliter", "V": "volt", "W": "watt", "dB": "decibel", "kcal": "kilocalorie", "in": "inch", "ft": "foot",
}  # fmt: skip
_PLURALS = {"inch": "inches", "foot": "feet"}
_COINS = {
    "USD": "dollars", "EUR": "euros", "GBP": "pounds", "CAD": "Canadian dollars", "AUD": "Australian dollars",
    "CHF": "Swiss francs", "JPY": "yen", "INR": "rupees",
}  # fmt: skip
_DAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday",
    "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_MONTHS = {
    "Jan": "January", "Feb": "February", "Mar": "March", "Apr": "April", "Jun": "June", "Jul": "July", "Aug": "August",
    "Sep": "September", "Sept": "September", "Oct": "October", "Nov": "November", "Dec": "December",
}  # fmt: skip
_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_LONGEST_MONTH = 31
_STATES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado",
    "CT": "Connecticut", "DE": "Delaware", "DC": "D.C.", "FL": "Florida", "GA": "Georgia", "HI": "Hawaii",
    "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky",
    "LA": "Louisiana", "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
    "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada", "NH": "New Hampshire",
    "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina", "ND": "North Dakota",
    "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania", "RI": "Rhode Island",
    "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VT": "Vermont",
    "VA": "Virginia", "WA": "Washington", "WV": "West Virginia", "WI": "Wisconsin", "WY": "Wyoming",
}  # fmt: skip
_WORDS_TOO = frozenset(("CO", "DE", "HI", "ID", "IN", "LA", "MA", "ME", "MS", "MD", "OH", "OK", "OR", "PA", "AL", "NE"))
"""States whose letters also mean something else; they are states before a postal code only."""


def alternatives(names: str, *, but: frozenset[str] = frozenset()) -> str:
    """Return a pattern for the short forms of a table: units, coins, days, months, states; longest first."""
    tables = {"units": _UNITS, "coins": _COINS, "days": _DAYS, "months": _MONTHS, "states": _STATES}
    tables["month names"] = dict.fromkeys(_MONTH_NAMES, "")
    return "|".join(sorted(set(tables[names]) - but, key=lambda short: (-len(short), short)))


def sure_states() -> str:
    """Return a pattern for the states that can be told by their letters alone."""
    return alternatives("states", but=_WORDS_TOO)


def unit(match: re.Match[str]) -> str:
    """Read a number and its unit: "2 tbsp" as "2 tablespoons"."""
    number, short = match.groups()
    name = _UNITS[short]
    return f"{number} {name if number == '1' else _PLURALS.get(name, f'{name}s')}"


def numeric_date(match: re.Match[str]) -> str:
    """Read "on 3/4" as a day, where there is such a day; otherwise it would be a fraction."""
    word, month, day = match.groups()
    if not (0 < int(month) <= len(_MONTH_NAMES) and 0 < int(day) <= _LONGEST_MONTH):
        return match.group()
    return f"{word} {_MONTH_NAMES[int(month) - 1]} {day}"


def days_of_month(match: re.Match[str]) -> str:
    """Read "Jan 5-7" as a span of days."""
    month, *days = match.groups()
    first, last = (f"{day}{_ordinal_ending(int(day))}" for day in days)
    return f"{_MONTHS.get(month, month)} {first} to {last}"


def _ordinal_ending(number: int) -> str:
    return "th" if number // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def area(match: re.Match[str]) -> str:
    """Read "10 m²" and "3 km³"."""
    prefix, power = match.groups()
    size = {"k": "kilo", "c": "centi", "m": "milli", None: ""}[prefix]
    return f" {'square' if power == '²' else 'cubic'} {size}meters"


def coins(match: re.Match[str]) -> str:
    """Read an amount with the letters of its currency before or behind it."""
    before, leading, trailing, behind = match.groups()
    return f"{leading or trailing} {_COINS[before or behind]}"


def day(match: re.Match[str]) -> str:
    """Read the short name of a day."""
    return _DAYS[match.group(1)]


def span(match: re.Match[str]) -> str:
    """Read "Mon-Fri" and "Jan-Mar"."""
    first, last = match.groups()
    return " to ".join(_DAYS.get(short) or _MONTHS.get(short, short) for short in (first, last))


def state(match: re.Match[str]) -> str:
    """Read the letters of a state."""
    return _STATES[match.group(1)]


def postal_code(match: re.Match[str]) -> str:
    """Read a state and the code behind it, digit by digit."""
    short, code = match.groups()
    return f"{_STATES[short]} {' '.join(code)}"


def lettered_code(match: re.Match[str]) -> str:
    """Spell the letters of "AB-1234-C", and the digits one by one if they are many."""
    letters, digits, last = match.groups()
    spoken = f"{'.'.join(letters)}. {' '.join(digits) if len(digits) > 3 else digits}"
    return f"{spoken} {'.'.join(last)}." if last else spoken
