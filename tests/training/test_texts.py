"""The sentences that the default voice is trained on."""

from training.templates import agent_sentences
from training.texts import SENTENCES, extra_utterances, is_clean, read_sentences, split_sentences


def test_the_committed_sentences_are_unique_and_keep_the_evaluation_out() -> None:
    """No evaluation sentence is trained on, and none occurs twice."""
    sentences = read_sentences()

    names = ("eval_sentences.txt", "held_out_sentences.txt")
    held_out = {line for name in names for line in (SENTENCES.parent / name).read_text().splitlines()}
    assert len(sentences) == len(set(sentences)) > 60_000
    assert len(held_out) == 70
    assert not held_out & set(sentences)


def test_agent_sentences_are_the_same_for_the_same_seed() -> None:
    """A seed fixes the sentences; another seed gives others; all fields are filled."""
    assert agent_sentences(300, seed=1) == agent_sentences(300, seed=1)
    assert agent_sentences(300, seed=1) != agent_sentences(300, seed=2)
    assert not [sentence for sentence in agent_sentences(300) if "{" in sentence]


def test_prose_is_cut_at_sentence_ends_and_cleaned() -> None:
    """Acronyms, digits and fragments are left out."""
    assert split_sentences("It rained. We stayed  in.") == ["It rained.", "We stayed in."]
    assert is_clean("It rained all day long.")
    assert not is_clean("The NATO summit began late.")
    assert not is_clean("It rained for 40 days.")
    assert not is_clean("Rain.")


def test_extra_utterances_hold_open_clauses_and_single_words() -> None:
    """What a streaming server speaks and prose lacks is supplied."""
    extra = extra_utterances([*read_sentences()[:3000]], fragment_count=50, word_count=20)

    assert len([text for text in extra[:50] if text.endswith(",")]) == 50
    assert all(len(text.split()) == 1 for text in extra[50:70])
