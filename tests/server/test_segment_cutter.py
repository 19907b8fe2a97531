"""Segments cut out of arriving text."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import segment_cutter
from server.segment_cutter import SegmentCutter
from server.segment_gaps import Strength, gap_strength

_WORDS = ["Hello", "the", "and", "because", "Dr.", "e.g.", "U.S.", "3.14", "1,250", "https://a.b/c?d=e.f", "p.m.", "1."]
_ENDS = [". ", ", ", "! ", "? ", "... ", "… ", "; ", ": ", " — ", ".) ", '" ', "“", " (", "\n- ", "\n# "]
_BLANKS = ["\n", "\n\n", "\r\n", " ", "   ", "\t", "\u00a0", "\u2028", "\u200b", "\x00", "\x07"]
_SCRIPTS = ["你好", "。", "，", "」", "नमस्ते", "।", "é", "e\u0301", "🙂", "👩\u200d👩\u200d👧"]
_PIECES = st.sampled_from(_WORDS + _ENDS + _BLANKS + _SCRIPTS)
_TEXTS = st.lists(_PIECES | st.text(max_size=4), max_size=60).map("".join)


def cut(text: str, *, max_chars: int = 110, first_cut_chars: int = 24) -> list[str]:
    """Cut a whole text at once."""
    cutter = SegmentCutter(max_chars, first_cut_chars)
    return cutter.push(text) + cutter.flush()


def cut_by_characters(text: str) -> list[str]:
    """Cut a text that comes one character at a time."""
    cutter = SegmentCutter()
    segments = [segment for character in text for segment in cutter.push(character)]
    return segments + cutter.flush()


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("Hello there. How are you? Fine!", ["Hello there. ", "How are you? ", "Fine!"]),
        ("Dr. Smith paid. Mr. J. K. Lee left.", ["Dr. Smith paid. ", "Mr. J. K. Lee left."]),
        ("Pi is 3.14 or so. It goes on.", ["Pi is 3.14 or so. ", "It goes on."]),
        ("Some, e.g. Tim, left. No one stayed.", ["Some, e.g. Tim, left. ", "No one stayed."]),
        ("She is from the U.S. Army.", ["She is from the U.S. Army."]),
        ("He lives in the U.S. He", ["He lives in the U.S. ", "He"]),
        ("He lives in the U.S. He likes it.", ["He lives in the U.S. ", "He likes it."]),
        ("Wait... what? Wait... What?", ["Wait... what? ", "Wait... ", "What?"]),
        ("Use approx. 5 of them.", ["Use approx. 5 of them."]),
        ("See a.b/c?d=e.f now. Go.", ["See a.b/c?d=e.f now. ", "Go."]),
        ("“Stop!” he said. “Why?” She left.", ["“Stop!” he said. ", "“Why?” ", "She left."]),
        ("(He left.) She stayed.", ["(He left.) ", "She stayed."]),
        ("你好。我是小明！「好。」他说", ["你好。", "我是小明！", "「好。」", "他说"]),
        ("هل أنت؟ نعم.", ["هل أنت؟ ", "نعم."]),
        ("नमस्ते। आप", ["नमस्ते। ", "आप"]),
    ],
)
def test_sentences(text: str, segments: list[str]) -> None:
    """A segment ends where a sentence ends, not at every period."""
    assert cut(text, first_cut_chars=110) == segments


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("# Title\nSome text", ["# Title\n", "Some text"]),
        ("Buy:\n- one apple\n- two pears\nThanks", ["Buy:\n", "- one apple\n", "- two pears\n", "Thanks"]),
        ("1. First thing. 2. Second thing\n3) Third", ["1. First thing. ", "2. Second thing\n", "3) Third"]),
        ("A title\n\nA text", ["A title\n\n", "A text"]),
        ("A title\r\n \r\nA text", ["A title\r\n \r\n", "A text"]),
        ("a hard\nwrapped line", ["a hard\nwrapped line"]),
    ],
)
def test_lines(text: str, segments: list[str]) -> None:
    """Paragraphs, headings and lists end a segment; a single line break may be mere layout."""
    assert cut(text) == segments


def test_sentence_end_needs_proof() -> None:
    """A period ends nothing until the next word begins, and then at once."""
    cutter = SegmentCutter()

    assert cutter.push("It costs 3.") == []
    assert cutter.push("50 dollars.") == []
    assert cutter.push("  \n ") == []
    assert cutter.push("N") == ["It costs 3.50 dollars.  \n "]


def test_first_segment_starts_early() -> None:
    """While nothing is spoken yet, a clause of 24 characters is enough; later clauses wait for their sentence."""
    text = "Your order has been shipped, and it should arrive, so they say, within three days."

    assert cut(text) == ["Your order has been shipped, ", "and it should arrive, so they say, within three days."]


def test_short_first_clause_waits() -> None:
    """A clause that is too short to be spoken alone is kept with what follows."""
    assert cut("Sure, I can do that for you.") == ["Sure, I can do that for you."]


def test_first_segment_ends_before_a_conjunction() -> None:
    """Without a comma the first segment ends before a conjunction from 48 characters on."""
    text = "The train to the city will leave from another platform today because the usual one is closed."

    assert cut(text) == [text[: text.index("because")], text[text.index("because") :]]


def test_flush_makes_the_next_segment_first() -> None:
    """After a flush somebody waits again, so the next segment starts early too."""
    cutter = SegmentCutter()
    assert cutter.push("Hello") + cutter.flush() == ["Hello"]

    assert cutter.push(" your order has been shipped, and w") == [" your order has been shipped, "]


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("word " * 12 + "word, " + "word " * 20, "word, "),
        ("word " * 15 + "and " + "word " * 20, "word "),
        ("word " * 40, "word "),
    ],
)
def test_long_sentence(sentence: str, end: str) -> None:
    """A sentence without an end is cut at a clause, a conjunction or a space, and stays within the limit."""
    segments = cut(sentence, first_cut_chars=110)

    assert segments[0].endswith(end)
    assert max(len(segment.strip()) for segment in segments) <= 110


def test_conjunction_beats_space() -> None:
    """A long sentence without commas is cut before its last conjunction."""
    assert cut("word " * 15 + "and " + "word " * 20, first_cut_chars=110)[1].startswith("and ")


@pytest.mark.parametrize(
    "kept", ["$3.14", "10:30 p.m.", "March 5, 2024", "10\u00a0000", "Dr. Smith", "https://example.com/a,b;c?d=e.f"]
)
def test_numbers_names_and_addresses_stay_whole(kept: str) -> None:
    """Wherever the limit falls, a number, a date, a name or an address is not torn."""
    for lead in range(60, 112):
        text = "x" * (lead % 7) + " word" * (lead // 5) + " " + kept + " word" * 20

        assert sum(kept in segment for segment in cut(text, first_cut_chars=110)) == 1


def test_endless_word_is_cut_between_graphemes() -> None:
    """A word of twice the limit is cut, but no emoji family or accent is torn from its base."""
    assert [len(segment) for segment in cut("x" * 500)] == [220, 220, 60]
    assert all(segment[0] == "👩" for segment in cut("👩‍👩‍👧" * 100))
    assert all(segment[0] == "x" for segment in cut("x\u0301\u0323" * 200))
    assert [len(segment) for segment in cut("x" + "\u0301" * 300 + "y")] == [220, 82]


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\u200b", "\x00\x07", "\ufeff \t"])
def test_blank_text_is_no_segment(blank: str) -> None:
    """Nothing visible, nothing to speak; it is held and leads the next segment."""
    cutter = SegmentCutter()

    assert cutter.push(blank) + cutter.flush() + cutter.flush() == []
    assert cutter.push("Hi.") + cutter.flush() == [blank + "Hi."]


def test_lonely_punctuation_joins_its_neighbor() -> None:
    """A piece without letter or digit is no segment of its own, unless flush leaves nothing else."""
    assert cut("Hello! ... !!! Yes.") == ["Hello! ... ", "!!! Yes."]
    assert cut("🙂") == ["🙂"]


@given(_TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """The segments joined are the text, up to blank text at its end."""
    joined = "".join(cut(text))

    assert text.startswith(joined)
    assert all(not character.isalnum() for character in text[len(joined) :])


@given(_TEXTS.filter(lambda text: all(len(word) < 200 for word in text.split())))
def test_words_stay_whole(text: str) -> None:
    """The words of the segments are the words of the text; scripts without spaces are one word here."""
    words = "".join(cut(text)).split()

    assert [word for word in text.split() if any(map(str.isalnum, word))] == [
        word for word in words if any(map(str.isalnum, word))
    ]


@given(_TEXTS, st.data())
def test_messages_do_not_matter(text: str, data: st.DataObject) -> None:
    """However a text is split into messages, with the same flushes it is cut at the same places."""
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    flushes = {place for place in places if data.draw(st.booleans())}
    whole, split = SegmentCutter(40, 12), SegmentCutter(40, 12)
    expected: list[str] = []
    actual: list[str] = []
    for begin, end in zip([0, *sorted(flushes)], [*sorted(flushes), len(text)], strict=True):
        expected += whole.push(text[begin:end]) + whole.flush()
    for begin, end in zip([0, *places], [*places, len(text)], strict=True):
        actual += split.push(text[begin:end]) + (split.flush() if end in flushes or end == len(text) else [])

    assert actual == expected


@given(_TEXTS)
@settings(max_examples=50)
def test_characters_one_by_one(text: str) -> None:
    """One character per message gives the segments of one message."""
    assert cut_by_characters(text) == cut(text)


@given(
    st.lists(st.sampled_from(["some", "words,", "and", "more", "of", "them", "e.g."]), min_size=1, max_size=200).map(
        " ".join
    )
)
def test_segments_fit(text: str) -> None:
    """No segment of plain words is longer than the limit."""
    assert max(len(segment.strip()) for segment in cut(text, max_chars=60)) <= 60


@pytest.mark.parametrize(
    "text", ["A sentence of words, and so on. ", "x", "x ", "\n", "A. ", "“ ", "\u200b", "1. ", "。", "好"]
)
@pytest.mark.parametrize("length", [2_000, 16_000])
def test_work_is_linear(text: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap is judged a handful of times, on one segment of text, however long the text is and however it comes."""
    judged: list[int] = []

    def counted(before: str, gap: str, after: str, *, is_whole_word: bool, language: str) -> Strength:
        judged.append(len(before))
        return gap_strength(before, gap, after, is_whole_word=is_whole_word, language=language)

    monkeypatch.setattr(segment_cutter, "gap_strength", counted)
    characters, whole = SegmentCutter(), SegmentCutter()
    for character in (text * length)[:length]:
        characters.push(character)
    whole.push((text * length)[:length])

    assert len(judged) <= 2 * 4 * length
    assert max(judged, default=0) <= 220
