"""How text is read aloud: a table of rewriting rules, applied in order before the G2P.

The G2P (hibari-tts, after misaki) reads numbers, dates, times, units and abbreviations. The rules here take away what
writers of markdown leave behind, read what the G2P gets wrong or does not know, and leave it only the punctuation the
voice was trained on: , . ; : ? ! and double quotes.
"""

import re
from itertools import pairwise

from server.phonemes import abbreviations
from server.phonemes.aligned_text import AlignedText, Replacement

_MONEY = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny")}
_CURRENCIES = {"$": "dollars", "€": "euros", "£": "pounds", "¥": "yen", "₹": "rupees", "₩": "won"}
_ADDRESS_WORDS = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", "@": "at", "?": "question mark", "=": "equals",
    "&": "and", "#": "hash", "%": "percent", ":": "colon", "+": "plus", "~": "tilde",
}  # fmt: skip
_DOMAINS = "com|org|net|edu|gov|io|co|ai|app|dev|uk|de|fr|eu|info|me|tv|us|ca|au"
_PER = "second|minute|hour|day|night|week|month|year|person|user|unit|item|piece|seat|mile|kg|lb|gallon|liter"
_NUMBER = r"\d+(?:,\d{3})*"


def _digits(match: re.Match[str]) -> str:
    """Read digit by digit, in the groups that are written, else in threes: "785-7096" as "7 8 5, 7 0 9 6"."""
    text = match.group()
    groups = re.findall(r"\d+", text)
    if len(groups) == 1:
        groups = re.findall(r"\d{1,3}", text) if len(text) % 3 != 1 else re.findall(r"\d{4}$|\d{3}", text)
    return ("plus " if text.startswith("+") else "") + ", ".join(" ".join(group) for group in groups)


def _digits_unless_range(match: re.Match[str]) -> str:
    """Read "493-027" by digits; "100-200" is a range."""
    first, last = match.group().split("-")
    return match.group() if first < last and last[0] != "0" else _digits(match)


def _money(match: re.Match[str]) -> str:
    sign, symbol, whole, fraction, scale = match.groups()
    unit, subunit = _MONEY[symbol]
    minus = "minus " if sign else ""
    whole = whole if "," in whole else f"{int(whole):,}"
    if scale:
        scale = {"k": "thousand", "m": "million", "b": "billion", "bn": "billion"}.get(scale.lower(), scale)
        return f"{minus}{whole}{fraction or ''} {scale} {unit}s"
    if fraction and len(fraction) > 3:
        return f"{minus}{whole}{fraction} {unit}s"
    subunits = int((fraction or ".00")[1:].ljust(2, "0"))
    parts = []
    if whole.strip("0,") or not subunits:
        parts.append(f"{whole} {unit}{'' if whole == '1' else 's'}")
    if subunits:
        plural = "pence" if subunit == "penny" else f"{subunit}s"
        parts.append(f"{subunits} {subunit if subunits == 1 else plural}")
    return minus + " and ".join(parts)


def _address(match: re.Match[str]) -> str:
    """Read a web or mail address: its words, and the signs between them by name."""
    text = re.sub(r"^(?:https?://)?(?:www\.)?|/$", "", match.group(), flags=re.IGNORECASE)
    return re.sub(r"[^\w]|_", lambda sign: f" {_ADDRESS_WORDS.get(sign.group(), '')} ", text)


def _spelled(match: re.Match[str]) -> str:
    """Spell a code: hyphens make the G2P say each letter and digit."""
    characters = re.sub(r"\W", "", match.group())
    switches = sum(left.isdigit() != right.isdigit() for left, right in pairwise(characters))
    return "-".join(characters) if switches > 1 or " " in match.group() else match.group()


def _decimal(match: re.Match[str]) -> str:
    """Read "2.0" and "1.50" with their zeros, which the G2P drops, and "2.0.1" and "10.0.0.1" with their points."""
    whole, *fractions = match.group().split(".")
    if len(fractions) > 1:
        return (" dot " if len(fractions) > 2 else " point ").join([whole, *fractions])
    return f"{whole} point {' '.join(fractions[0])}"


def _inches(match: re.Match[str]) -> str:
    """Read 32" as inches, unless the quote closes what another one opened."""
    is_closing = len(re.findall(r"(?<!\d)\"", match.string[: match.start()])) % 2
    return match.group() if is_closing else f"{match.group(1)} inches"


def _spaced(match: re.Match[str]) -> str:
    return f"{match.group(1)} {' '.join(match.group(2))}"


def _rules(*pairs: tuple[str, Replacement]) -> tuple[tuple[re.Pattern[str], Replacement], ...]:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


_TARGET = "\x1a"
"""Stands for the target of a link while its brackets are taken away; no text holds it."""
_TAG_OR_TARGET = re.compile(r"</?[A-Za-z][\w:-]*(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>|(?<=\])\([^()\s]*\)")
# First of all, so that no rule meets a long run of white space.
_LAYOUT = _rules((r" {2,}", " "), (r"(?: ?\n ?)+", "\n"))
_MARKUP = _rules(
    (r"```[\w+-]*", " "),
    (rf"!?\[(?=[^\[\]\n]*\]{_TARGET})|\]{_TARGET}|{_TARGET}", ""),
    (r"(?m)^[ \t]*(?:(?:[-*_=]\s?){3,}|[|:\s-]{4,})$", " "),
    (r"(?m)^[ \t]*(?:#{1,6}|>+|[-*+\u2022—])[ \t]+", ""),
    (r"(?m)^[ \t]*(\d{1,3})[.)][ \t]+", r"\1, "),
    (r"(?<= )!=(?= )", "is not"),
    (r"(?<= )(?:={2,3})(?= )", "equals"),
    (r"(?<= )&&(?= )", "and"),
    (r"\*{2,}|__+|~{2,}|`+", ""),
    (r"(?<![\w*])[*_](?=\w)|(?<=[\w.,!?])[*_](?![\w*])", ""),
    (r"\u2022|\\", " "),
)  # fmt: skip
_ADDRESSES = _rules(
    (r"(?i)\b(?:https?://|www\.)[^\s<>\"]*[\w/]", _address),
    (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", _address),
    (rf"(?i)(?<![\w@.-])(?:[a-z][\w-]*\.)+(?:{_DOMAINS})\b(?:/(?:[^\s<>\"]*[\w/])?)?", _address),
    (r"(?<=[A-Za-z]{2})\.(?=[a-z][a-z0-9])|(?<![\w.])\.(?=[A-Za-z]{2})", " dot "),
)
_UNIT, _COIN, _STATE = (abbreviations.alternatives(names) for names in ("units", "coins", "states"))
_DAY, _MONTH, _MONTH_NAME = (abbreviations.alternatives(names) for names in ("days", "months", "month names"))
_SHORT_FORMS = _rules(
    (r"(?i)\be\.\s?g\.(?=[\s,:])", "for example"),
    (r"(?i)\bi\.\s?e\.(?=[\s,:])", "that is"),
    (rf"\b({_DAY})\.?\s?[-—]\s?({_DAY})\b\.?(?=\W|$)", abbreviations.span),
    (rf"\b({_MONTH})\.?\s?[-—]\s?({_MONTH})\b\.?(?=\W|$)", abbreviations.span),
    (
        rf"\b({_MONTH}|May|{_MONTH_NAME})\.?\s(\d{{1,2}})\s?[-—]\s?(\d{{1,2}})\b(?![\d:/%-])",
        abbreviations.days_of_month,
    ),
    (rf"([$€£])({_NUMBER}(?:\.\d+)?)\s?[-—]\s?(?=\d)", r"\2 to \1"),
    (r"\b(\d+)\s?h(?:rs?)?\s(\d+)\s?m(?:in)?\b", r"\1 hours \2 minutes"),
    (rf"\b({_DAY})\b\.?(?=,?\s(?:\d|(?:{_MONTH})))", abbreviations.day),
    (rf"(?<=[a-z],\s)({abbreviations.sure_states()})(?=\s*(?:[.,;!?]|$))", abbreviations.state),
    (rf"\b({_STATE}),?\s(\d{{5}})(?:-\d{{4}})?\b(?!-|,?\d)", abbreviations.postal_code),
    (r"(\d+\s(?:[A-Z][a-z]+\s){1,2})Dr\b\.?(?!\s[A-Z])", r"\1Drive"),
    (r"\bA-Z\b", "A to Z"),
    (r"(?i)\bext\.?\s?(?=\d)", "extension "),
    (r"\bp\.\s?(?=\d)", "page "),
    (
        r"(?i)\b((?:card|account|number|phone|ssn|ticket|order)\b[^.?!\d]{0,20}\bend(?:s|ing) (?:in|with)"
        r"|last (?:four|4)(?: digits)?(?: are| is)?|(?:code|passcode|pin|otp) is|zip|pin|otp"
        r"|(?:zip|area|access|security|confirmation|verification|error|status|postal|country) code(?: is)?)"
        r":?\s(\d{3,8})\b(?![%\d]|[,.-]\d)",
        _spaced,
    ),
    (r"(?<![\w.-])\d{3}-\d{3}(?![\w-])", _digits_unless_range),
    (r"\b(UTC|GMT)\s?-(?=\d)", r"\1 minus "),
    (r"(?<![\w-])([A-Z]{2,3})-(\d+)(?:-([A-Z]{1,3}))?(?![\w-])", abbreviations.lettered_code),
    (rf"(?<![\w/])(?:({_COIN})\s?({_NUMBER}(?:\.\d+)?)|({_NUMBER}(?:\.\d+)?)\s?({_COIN}))\b", abbreviations.coins),
    (r"(?<=\d)(\s?(?:lbs?|oz|mi|ft|hrs?|mins?|secs?|yrs?|[Tt]bsp|tsp))\.(?=\s[a-z(])", r"\1"),
    (r"\b(\d)'\s?(\d{1,2})\"", r"\1 feet \2 inches"),
    (r"(\d+(?:\.\d+)?)\"(?!\w)", _inches),
    (r"(?<=\d)\s?ft\.?\s(\d+)\s?in\b\.?", r" feet \1 inches"),
    (rf"(?<![\w.,])(\d[\d,.]*)({_UNIT})\b", abbreviations.unit),
    (rf"(?<![\w.,])(\d[\d,.]*)\s(?!in\b|ft\b)({_UNIT})\b(?!\s[A-Z\d])", abbreviations.unit),
    (r"(?<=\d)\s?(k|c|m)?m([²³])", abbreviations.area),
    (r"(?<=\d)\s?m/s\b", " meters per second"),
    (r"\b([Aa]n?)\s(\d+)/(5|10|100)\b", r"\1 \2 out of \3"),
    (r"\b([Oo]n|[Uu]ntil|[Dd]ue|[Ss]ince) (\d{1,2})/(\d{1,2})(?![\w/])", abbreviations.numeric_date),
    (r"(?<=\d)\s?[-—]\s?(?=\d+(?:\.\d+)?\s?=)", " minus "),
    (r"(?<=\d)/(?=\d+\s?=)", " divided by "),
    (r"(?<![\d:.])(\d+):(\d)(?![\w:])", r"\1 to \2"),
    (r"(?<![\w-])(\d+)-\1(?![\w-])", r"\1 \1"),
    (r"([$€£])-(?=\d)", r"-\1"),
)
_NUMBERS = _rules(
    (r"(?<=\d),(?!\d{3}(?!\d))(?=\d)", ", "),
    (r"\b\d{1,3}(?: 000)+\b", lambda match: match.group().replace(" ", ",")),
    (r"(?<=\d)\.(?=\d\d\s?[ap]\.?m\b)", ":"),
    (
        r"(\d:\d\d|\d\s?[ap]\.?m\.?|\d%)\s?[-—]\s?(?=\d)|(\d)\s?[-—]\s?(?=\d+(?:\.\d+)?%|\d\d?(?::\d\d)?\s?[ap]m|[$€£]\d)",
        r"\1\2 to ",
    ),
    (r"~(?=\s?[$€£]?\d)", "about "),
    (rf"(?<=\d)/(?=(?:{_PER})s?\b)", " per "),
    (r"(?<=\d)/(hr|mo|yr)\b", lambda match: " per " + {"hr": "hour", "mo": "month", "yr": "year"}[match.group(1)]),
    (
        rf"((?<!\w)-)?(?:US|CA|AU|NZ|HK|C|A|S)?([$€£])\s?({_NUMBER})(\.\d+)?(?:\s?(hundred|thousand|million|billion|trillion|bn|[kKmMbB])\b)?",
        _money,
    ),
    (r"(?<=\d)\s?[€£$¥₹₩]|[€£$]|[¥₹₩](?!\s?\d)", lambda match: f" {_CURRENCIES[match.group().strip()]} "),
    (r"\b(?:[Vv]ersion )?v(?=\d+\.\d)", "version "),
    (r"(?<=\d)\s?bn\b", " billion"),
    (r"(?<=\d)M(?=\s[a-z])", " million"),
    (r"\b(\d{1,2})-(\d{1,2})-(\d{4})\b", r"\1/\2/\3"),
    (r"(?<![\w.])(?:\+?1[\s.-]?)?(?:\(\d{3}\)\s?|\d{3}[\s.-])\d{3}[\s.-]\d{4}(?!\w)", _digits),
    (r"(?<![\w.])\+\d{1,3}(?:[\s.-]?\(?\d{2,4}\)?){2,5}(?!\w)", _digits),
    (r"(?<![\w.-])\d{3}-\d{4}(?![\w-])", _digits),
    (r"(?<![\w.-])(?!\d{4}-\d\d-\d\d\b)\d+(?:-\d+){2,}(?![\w-])|(?<![\w.-])\d{4}(?: \d{4}){2,}(?!\w)", _digits),
    (r"(?<=[Cc]all )(?:911|112|999|411|611)\b|(?<=[Dd]ial )(?:911|112|999|411|611)\b", _digits),
    (r"(?<![\w.,:/-])(?:0\d+|\d{7,})(?![\w:/-]|[.,]\d)", _digits),
    (r"\d[\d,]{16,}\d", _digits),
    (r"(?<![\w)])-(?=\.?\d)", "minus "),
    (r"(?<![\w.,])\d+(?:\.\d+){2,}(?![\w])|(?<![\w.,])\d+\.\d*0(?!\w|[.,]\d)", _decimal),
    (r"\b(\d+)\s([123]/[2348])(?![\w/])", r"\1 and \2"),
    (r"(?<=\d)\s?(?=[½¼¾])", " and "),
    (r"(?<=\d)\s?\*\s?(?=\d)|(?<=\d)x\b(?!\d)", " times "),
    (r"(?<=\d)x(?=\d)", " by "),
    (r"(?<!401)(?:(?<=\d\d)|(?<=\.\d))k\b", " thousand"),
    (r"\b(24|50)/(7|50)\b", r"\1 \2"),
)
_WORDS = _rules(
    (r"(?<![\w-])(?=[A-Z\d]*[A-Z])(?=[A-Z\d]*\d)[A-Z\d]{4,12}(?![\w-])", _spelled),
    (r"(?<![\w.-])[A-Z](?: [A-Z]){2,}(?![\w.-])", _spelled),
    (r"\b([A-Ga-g])#(?!\w)", r"\1 sharp"),
    (r"(?<=\w) 'n' (?=\w)", " and "),
    (r"(?<!\w)'(?=(?:[Tt]is|[Tt]was)\b)", ""),
    (r"\bCO2\b", "C O 2"),
    (r"([^\W\d_]{20})(?=[^\W\d_]{5})", r"\1 "),
    # The G2P takes these for "number", "figure" and so on, also where they only end a sentence.
    (r"\b(no|nos|fig|est|ed|eds|vol|ch|pp)\.(?!\s?\d)", r"\1 ."),
    # A period right behind it hides a range or a fraction from the G2P.
    (r"(?<=\d[-/—]\d)(?=[.,;:!?]+(?:\s|$))|(?<=\d[-/—]\d\d)(?=[.,;:!?]+(?:\s|$))", " "),
    (r"(?<=\d)\s?—\s?(?=\d)", "-"),
)
_PUNCTUATION = _rules(
    (r"(?<=[a-z]{2})\.(?=[A-Z][a-z])", ". "),
    (r"(?<=[^\W\d_])([?!])(?=[^\W\d_])", r"\1 "),
    # The G2P does not know a word that stands between quotes.
    (r"[\"“”]", ""),
    (r"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)", r"\1"),
    (r"\(s\)", "s"),
    (r"\s*(?:—|-{2,})\s*|\s+-\s+|\s*[(\[{)\]}|]\s*", ", "),
    (r"\.{2,}(?=\s*$)", "."),
    (r"\.{2,}(?=[!?,;:])", ""),
    (r"\.{2,}", ", "),
    (r"[!?]*\?[!?]*", "?"),
    (r"!{2,}", "!"),
    (r"\s+(?=[,;:])", ""),
    (r"\s+", " "),
    (r"([,;:])(?:\s?[,;:])+", r"\1"),
    (r"\s?[,;:]+(?=\s?[.!?])|(?<=[!?;:]) ?,+|(?<=[a-z]{3}\.) ?,+|^[\s,;:.!?]+", ""),
    (r",(?=[^\s\d])", ", "),
)
# Each group with the signs without which none of its rules can match: most sentences need few of them.
_TABLE = (
    (_MARKUP, re.compile(r"[^\w\s.,;:!?'\"()]|_|\d[.)]")),
    (_ADDRESSES, re.compile(r"[./@]")),
    (_SHORT_FORMS, re.compile(r"\d|[A-Za-z]\.\s?[A-Za-z]\.|-|, [A-Z]")),
    (_NUMBERS, re.compile(r"[\d$€£¥₹₩]")),
    (_WORDS, re.compile(r"[\d#'.]|[A-Z] [A-Z]|[^\W\d_]{25}")),
    (_PUNCTUATION, re.compile(r"[^\w ]|  |^ ")),
)


def make_readable(text: AlignedText, original: str) -> tuple[str, ...]:
    """Rewrite a text, in place, so that the G2P reads it as a person would.

    Args:
        text: Speakable characters only, see `speakable`; lines end in a newline.
        original: The text as it was written.

    Returns:
        What was left out of the original because it is meant for machines: tags, and the targets of links.
    """
    left_out: list[str] = []

    def removed(match: re.Match[str]) -> str:
        start, end = text.origin(*match.span())
        left_out.append(original[start:end])
        return _TARGET if match.group().startswith("(") else " "

    for pattern, replacement in _LAYOUT:
        text.sub(pattern, replacement)
    text.sub(_TAG_OR_TARGET, removed)
    for rules, signs in _TABLE:
        if signs.search(text.text):
            for pattern, replacement in rules:
                text.sub(pattern, replacement)
    return tuple(left_out)
