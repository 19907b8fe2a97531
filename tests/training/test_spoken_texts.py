"""Texts with what a listener should hear."""

from collections import Counter

from training.readings import plain_words
from training.spoken_texts import new_agent_texts, read_spoken_texts, robustness_texts
from training.templates import agent_utterances
from training.texts import read_sentences


def test_the_robustness_set_is_what_was_asked_for() -> None:
    """Five hundred different texts; twenty of one word, twenty of about sixty, and every kind of oddity."""
    texts = robustness_texts()
    counts = Counter(text.category for text in texts)
    lengths = {name: [len(text.text.split()) for text in texts if text.category == name] for name in counts}

    assert len(texts) == len({text.text for text in texts}) == 500
    assert set(lengths["one word"]) == {1}
    assert 60 <= min(lengths["sixty words"]) <= max(lengths["sixty words"]) <= 66
    assert counts["one word"] == counts["sixty words"] == 20
    assert min(counts.values()) >= 20
    assert set(counts) >= {
        "repeated words",
        "tongue twisters",
        "numbers",
        "names",
        "all caps",
        "other scripts",
        "agents",
    }


def test_every_spoken_form_is_words_only() -> None:
    """No digit is left to be read in one way or another."""
    texts = [*robustness_texts(), *new_agent_texts(200, seed=99)]

    assert [text.text for text in texts if any(char.isdigit() for char in text.spoken)] == []
    assert all(plain_words(text.spoken) for text in texts)


def test_agent_texts_are_new_to_the_voice() -> None:
    """None was trained on, and the same seed gives the same."""
    texts = new_agent_texts(50, seed=99)

    assert texts == new_agent_texts(50, seed=99)
    assert not {text.text for text in texts} & set(read_sentences())


def test_templates_tell_how_they_are_spoken() -> None:
    """Fields are written out as a person says them."""
    spoken = dict(agent_utterances(7000, seed=99))

    assert spoken["Your balance is $749.53 as of June 17."] == (
        "Your balance is seven hundred forty nine dollars and fifty three cents as of June seventeenth."
    )
    assert plain_words(spoken["See you on Monday at 4:05!"])[-3:] == ["four", "oh", "five"]
    assert plain_words(spoken["Please call 5 3 1, 9 4 1 2 after 11 o'clock."])[2:5] == ["five", "three", "one"]


def test_the_format_of_the_file() -> None:
    """Comments, categories, texts, and spoken forms behind a tab."""
    texts = read_spoken_texts(["# [a] comment", "[one word]", "Yes.", "", "[numbers]", "5!\tfive", "# five\tfive"])

    assert [(text.category, text.text, text.spoken) for text in texts] == [
        ("one word", "Yes.", "Yes."),
        ("numbers", "5!", "five"),
        ("numbers", "# five", "five"),
    ]
