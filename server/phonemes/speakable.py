"""Characters: which ones an English voice speaks, what others are replaced by, and which are reported unspoken."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import html
import re
import unicodedata

from server.phonemes.aligned_text import AlignedText

_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴-⁹⁻⁺]{2,}|[⁰¹⁴-⁹]")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
# A character with the marks, joiners and variation selectors that belong to it; line ends stay line ends.
_MARKS = "\u200d" + "".join(char for char in map(chr, range(0x300, 0x20000)) if unicodedata.category(char)[0] == "M")
_CLUSTER = re.compile(f"\r\n|[^{_MARKS}][{_MARKS}]*|[{_MARKS}]+")
_LINE_ENDS = "\n\r\x0b\x0c\x85\u2028\u2029"
# Read by the rules of `reading`, or by the G2P behind them.
_KEPT = frozenset("€£¥₹₩¢°§±×÷©→½¼¾²³µ“”")
_REPLACED = {
    **dict.fromkeys("„‟«»″〝〞「」『』", '"'),
    **dict.fromkeys("‘’‚‛‹›′´ʼ＇", "'"),
    **dict.fromkeys("‐‑‒−﹣－", "-"),
    **dict.fromkeys("–—―⸺⸻〜～", "—"),
    **dict.fromkeys("。｡।॥۔", ". "),
    **dict.fromkeys("、，،", ", "),
    **dict.fromkeys("؛", "; "),
    **dict.fromkeys("؟", "? "),
    **dict.fromkeys("•‣◦▪■●·∙", "\u2022"),
    **dict.fromkeys("¿¡®™℠\u00ad\ufffc", ""),
    "…": "...",
    "⁄": "/",
    "∕": "/",
    "№": "number ",
    "℃": "°C",
    "℉": "°F",
    "←": " ",
    "⇒": "→",
    "μ": "µ",
    "≤": " at most ",
    "≥": " at least ",
    "≠": " is not ",
    "≈": " about ",
    "∞": " infinity ",
    "√": " root of ",
    "⅓": " 1/3",
    "⅔": " 2/3",
    "⅕": " 1/5",
    "⅛": " 1/8",
    "⅜": " 3/8",
    "⅝": " 5/8",
    "⅞": " 7/8",
    "ẞ": "SS",
    "ß": "ss",
    "Ð": "Th",
    "ħ": "h",
    "Ħ": "H",
    "ŧ": "t",
    "Ŧ": "T",
    "Ŋ": "Ng",
    "ĸ": "k",
    "Ŀ": "L",
    "ŀ": "l",
}  # fmt: skip
# Letters with accents that the G2P knows only without them.
_FOLDED = frozenset("İÈËÙÛÝĄĈĉĊċĔĘĚĜĠĢĤĥĨĩĪĬĮįĲĳĴĵĶĹĺĻĽľŃŅŇŉŎŐŔŕŖŗŜŝŢŤŨũŪŬűŲŴŶŷŸŹſ")
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "ι": "iota",
    "κ": "kappa",
    "λ": "lambda",
    "ν": "nu",
    "ξ": "xi",
    "ο": "omicron",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "υ": "upsilon",
    "φ": "phi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
}  # fmt: skip


def keep_speakable(text: AlignedText, original: str) -> tuple[str, ...]:
    """Replace what has a plain form, take out what cannot be spoken.

    Args:
        text: Changed in place: afterwards it holds ASCII, Latin letters and a few signs; lines end in a newline.
        original: The text as it was written.

    Returns:
        The stretches of the original that were taken out, in their order. White space, control and formatting
        characters are taken out too, but not reported: there was nothing to speak in them.
    """
    text.sub(_ENTITY, lambda match: html.unescape(match.group()))
    if text.text.isascii() and text.text.isprintable():
        return ()
    text.sub(_SUPERSCRIPT, lambda match: "^" + match.group().translate(_DIGITS))
    unspoken: list[tuple[int, int]] = []

    def replaced(match: re.Match[str]) -> str:
        new = _spoken_form(match)
        if new is not None:
            return new
        start, end = text.origin(*match.span())
        if unspoken and unspoken[-1][1] >= start:
            start = unspoken.pop()[0]
        unspoken.append((start, end))
        return " "

    text.sub(_CLUSTER, replaced)
    return tuple(original[start:end] for start, end in unspoken)


def _spoken_form(match: re.Match[str]) -> str | None:
    """Return what a cluster is spoken as, "" for one without sound, None for one that cannot be spoken."""
    cluster = match.group()
    base = cluster[0]
    if cluster.isascii() and cluster.isprintable():
        return cluster
    if base in _LINE_ENDS:
        return "\n"
    if base.isspace():
        return " "
    if base.lower() in _GREEK and len(cluster) == 1 and _stands_alone(match):
        return f" {_GREEK[base.lower()]} "
    forms = [_plain(char) for char in unicodedata.normalize("NFC", cluster)]
    return None if None in forms else "".join(form for form in forms if form is not None)


def _plain(char: str) -> str | None:
    if char in _REPLACED:
        return _REPLACED[char]
    is_latin = "À" <= char <= "ž" and char.isalpha() and char not in _FOLDED
    if is_latin or char in _KEPT or (char.isascii() and char.isprintable()):
        return char
    category = unicodedata.category(char)
    if category in ("Cc", "Cf", "Mn", "Me", "Zs", "Zl", "Zp"):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(char))
    compatible = unicodedata.normalize("NFKD", char)
    if compatible == char:
        return None
    forms = [_plain(part) for part in compatible]
    plain = "".join(form for form in forms if form is not None)
    return None if None in forms or not (plain.strip() or category[0] in "PS") else plain


def _stands_alone(match: re.Match[str]) -> bool:
    begin, end = match.span()
    return not (match.string[:begin][-1:].isalpha() or match.string[end : end + 1].isalpha())
