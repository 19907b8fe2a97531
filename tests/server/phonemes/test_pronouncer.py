"""Text to phonemes, word by word."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hibari import Hibari
from hypothesis import given, settings
from hypothesis import strategies as st

from server.phonemes.pronouncer import Pronouncer
from server.phonemes.pronunciations import read_pronunciations
from training.texts import read_sentences

_READ_BETTER = re.compile(r"--|\.\.\.|[\"“”]|(?<!\w)'")
"""Dashes, ellipses and quotes, which the G2P alone reads worse."""
_KNOWN_BETTER = frozenset(read_pronunciations(british=False))


def words_of(pronouncer: Pronouncer, text: str) -> list[tuple[str, str]]:
    """Return what is written and how it is spoken."""
    return [(text[word.char_start : word.char_end], word.phonemes) for word in pronouncer.pronounce(text)[0]]


def test_phonemes_of_training(pronouncer: Pronouncer) -> None:
    """Plain sentences are read exactly as those that the default voice was trained on."""
    teacher = Hibari()
    sentences = [text for text in read_sentences()[:120] if not _READ_BETTER.search(text)]

    for sentence in sentences:
        phonemes = teacher.phonemize(sentence)
        if len(phonemes) == 1 and _KNOWN_BETTER.isdisjoint(re.findall(r"\w+", sentence)):
            assert [" ".join(word.phonemes for word in pronouncer.pronounce(sentence)[0])] == phonemes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, world!", [("Hello", "həlˈO,"), ("world", "wˈɜɹld!")]),
        ("“Yes” (or no)", [("Yes", "jˈɛs,"), ("or", "ɔɹ"), ("no", "nˈO,")]),
        ("At 10:30 p.m. go", [("At", "ˌæt"), ("10:30 p.m.", "tˈɛn θˈɜɹTi pˌiˈɛm"), ("go", "ɡˌO")]),
        ("USD 5 now", [("USD 5", "fˈIv dˈɑləɹz"), ("now", "nˈW")]),
        ("a well-known word—here", [("a", "ɐ"), ("well-known", "wˌɛlnˈOn"), ("word", "wˈɜɹd,"), ("here", "hˈɪɹ")]),
        ("2 * 3 = 6", [("2", "tˈu"), ("*", "tˈImz"), ("3", "θɹˈi"), ("=", "ˈikwᵊlz"), ("6", "sˈɪks")]),
        ("**Bold** 😀 yes", [("Bold", "bˈOld"), ("yes", "jˈɛs")]),
        ("x, -5", [("x", "ˈɛks,"), ("-5", "mˈInəs fˈIv")]),
        ("call 785-7096.", [("call", "kˈɔl"), ("785-7096", "sˈɛvən ˈAt fˈIv, sˈɛvən zˈɪɹO nˈIn sˈɪks.")]),
        ("I said no.", [("I", "ˌI"), ("said", "sˈɛd"), ("no", "nˈO.")]),
        ("", []),
        ("...", []),
        ("😀", []),
    ],
)
def test_words_and_their_places(pronouncer: Pronouncer, text: str, words: list[tuple[str, str]]) -> None:
    """Each written word has its phonemes; what is spoken as one thing is one word, however it is written."""
    assert words_of(pronouncer, text) == words


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("TELL US IF IT IS ON", "tˈɛl ˌʌs ɪf ɪt ɪz ˌɔn"),
        ("THE FBI IN THE USA", "ði ˌɛfbˌiˈI ɪn ðə jˌuˌɛsˈA"),
        ("The US and IT", "ðə jˌuˈɛs ænd ˌItˈi"),
        ("Ask THEM", "ˈæsk ðˌɛm"),
        ("sooo coool", "sˌO kˈul"),
        ("from Zürich", "fɹʌm zˈuɹɪk"),
        ("Sean's and SEAN", "ʃˈɔnz ænd ʃˈɔn"),
        ("Olivia met Michelle.", "Olˈɪviə mˈɛt mɪʃˈɛl."),
        ("Los Angeles", "lˈOs ˈænʤələs"),
    ],
)
def test_words_that_the_g2p_guesses_wrong(pronouncer: Pronouncer, text: str, phonemes: str) -> None:
    """Shouted words are words, abbreviations are spelled, and names are said as their owners say them."""
    assert " ".join(word.phonemes for word in pronouncer.pronounce(text)[0]) == phonemes


def test_british(pronouncer: Pronouncer) -> None:
    """A British voice reads as in Britain."""
    british = Pronouncer(british=True)

    assert words_of(british, "bath") == [("bath", "bˈɑːθ")]
    assert words_of(pronouncer, "bath") == [("bath", "bˈæθ")]


def test_unspoken_parts(pronouncer: Pronouncer) -> None:
    """Emoji, other scripts, tags and the targets of links are reported."""
    assert pronouncer.pronounce("Hi 👋 <b>[你好](http://a.b)</b>")[1] == ("👋", "你好", "<b>", "(http://a.b)", "</b>")


_PIECES = [
    "Hello",
    "the",
    "I",
    "Dr.",
    "U.S.",
    "3.14",
    "1,250",
    "$5.00",
    "€",
    "10:30",
    "p.m.",
    "785-7096",
    "https://a.b/c?d=e",
]
_PIECES += [
    "x@y.com",
    "**",
    "_",
    "#",
    "- ",
    "1. ",
    "\n",
    ", ",
    ". ",
    "! ",
    "? ",
    "...",
    "—",
    "-",
    "(",
    ")",
    "[",
    "](u)",
    "“",
    "”",
]
_PIECES += [
    "'",
    '"',
    "é",
    "π",
    "你好",
    "😀",
    "½",
    "²",
    "°C",
    "%",
    "&",
    "<b>",
    "+",
    "=",
    "<",
    "|",
    "~",
    "^",
    "\\",
    "/",
    "AB12CD",
]
_PIECES += [
    "A B C",
    "NASA",
    "no.",
    "don't",
    "VIII",
    "2024-03-05",
    "1/2",
    "3-4",
    "5km",
    "¥500",
    "USD 5",
    "'80s",
    "007",
    "İ",
    "ſ",
]
_PIECES += [
    "C#",
    "5'11\"",
    "100k",
    "2x4",
    "-5",
    "1.2.3",
    "Ph.D.",
    "9" * 40,
    "1," * 15,
    "a" * 60,
    "\u200b",
    "\x00",
    "\u2028",
    "٣",
]


@given(
    st.lists(st.sampled_from(_PIECES) | st.sampled_from([" ", "  "]) | st.characters(codec="utf-8"), max_size=20).map(
        "".join
    )
)
@settings(deadline=None)
def test_no_word_is_lost_or_doubled(pronouncer: Pronouncer, text: str) -> None:
    """Whatever the text is, every letter and digit is spoken in exactly one word, or reported."""
    words, unspoken = pronouncer.pronounce(text)
    spoken = [position for word in words for position in range(word.char_start, word.char_end)]

    assert spoken == sorted(set(spoken))
    reported = "".join(unspoken)
    left_out = [text[position] for position in set(range(len(text))) - set(spoken)]
    assert all(character in reported for character in left_out if character.isascii() and character.isalnum())


def test_threads(pronouncer: Pronouncer) -> None:
    """Several threads at once get what one gets alone, unknown words included."""
    texts = [
        f"Zorb{letter}latt paid ${number}.50 at {number}:30 p.m." for number, letter in enumerate("abcdefgh", 1)
    ] * 4
    alone = [pronouncer.pronounce(text) for text in texts]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(pronouncer.pronounce, texts)) == alone
