"""Words as the lexicon knows them."""

import pytest

from server.phonemes.familiar import familiar_words

KNOWN = frozenset(
    (
        "us",
        "US",
        "it",
        "IT",
        "tell",
        "them",
        "so",
        "cool",
        "zurich",
        "cafe",
        "café",
        "hmm",
        "the",
        "who",
        "WHO",
        "don't",
    )
)


@pytest.mark.parametrize(
    ("written", "familiar"),
    [
        ("TELL US THE IT", "tell us the it"),
        ("tell US the IT", "tell US the IT"),
        ("tell THEM, so", "tell them, so"),
        ("tell THE WHO", "tell the WHO"),
        ("TELL THE FBI", "tell the FBI"),
        ("sooo coool hmmmm xyyyz", "so cool hmm xyz"),
        ("AAA III", "AAA III"),
        ("Zürich's café's", "Zurich's café's"),
        ("TELL THEM IT'S US'S don't", "tell them it's us's don't"),
        ("TELL NASA'S", "tell NASA'S"),
        ("Zürich, café, Łódź", "Zurich, café, Łódź"),
        ("A I 42 --", "A I 42 --"),
    ],
)
def test_words_are_rewritten_one_for_one(written: str, familiar: str) -> None:
    """Capitals, accents and stretched letters go where the lexicon knows the word without them, and only there."""
    assert familiar_words(written.split(), KNOWN.__contains__) == familiar.split()
