"""Speech through a real socket: streaming, equality, order, several utterances on a stream."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Iterable

import pytest

from antiphon_client.aio import AsyncClient
from antiphon_client.conversation import Conversation
from antiphon_client.errors import RequestError
from antiphon_client.events import AudioChunk, Cancelled, Event, Finished, SegmentEnd, SegmentFinished, Started
from antiphon_client.options import Encoding, SpeechOptions
from antiphon_client.text import Text

TEXT = "The first sentence is here. A second one, a little longer than the first, follows it. And a third."
FAST = SpeechOptions(seed=7, max_lead_s=3600.0)


async def audio_of(client: AsyncClient, text: Text, options: SpeechOptions = FAST) -> bytes:
    """All bytes of an utterance."""
    return b"".join([chunk.audio async for chunk in client.speak(text, options)])


async def until_finished(events: AsyncIterator[Event]) -> list[Event]:
    """The events of the next utterance."""
    collected = []
    async for event in events:
        collected.append(event)
        if isinstance(event, Finished | Cancelled):
            break
    return collected


def audio_in(events: Iterable[Event]) -> bytes:
    """The audio among events."""
    return b"".join(event.audio for event in events if isinstance(event, AudioChunk))


async def test_events_come_in_their_order(client: AsyncClient) -> None:
    """Started, then chunks and ends of segments with offsets that add up, then totals that agree."""
    async with client.converse(FAST) as conversation:
        await conversation.send_text(TEXT)
        await conversation.finish()
        events = [event async for event in conversation]
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    segments = [event for event in events if isinstance(event, SegmentFinished)]
    started, finished = events[0], events[-1]

    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert ("tiny", 24000, 7) == (started.voice, started.sample_rate_hz, started.seed)
    assert len(TEXT) == finished.character_count
    assert list(range(finished.segment_count)) == [segment.segment_index for segment in segments]
    assert sum(len(chunk.audio) for chunk in chunks) == round(finished.duration_s * 24000) * 2
    assert pytest.approx(finished.duration_s) == sum(segment.duration_s for segment in segments)
    for before, after in itertools.pairwise(chunks):
        assert pytest.approx(before.start_s + before.duration_s) == after.start_s
    assert all(chunk.segment_index == 0 for chunk in chunks if chunk.start_s < segments[0].duration_s - 1e-6)


@pytest.mark.parametrize(
    "pieces",
    [[TEXT], list(TEXT), TEXT.split(" "), [TEXT[:50], "", TEXT[50:]]],
    ids=["whole", "characters", "words", "with an empty one"],
)
async def test_no_word_is_lost_or_doubled(client: AsyncClient, pieces: list[str]) -> None:
    """However text is cut into messages, the segments hold it exactly."""
    sent = "".join(pieces)
    speech = client.speak(pieces, FAST)
    async for _ in speech:
        pass

    assert sent == "".join(segment.text for segment in speech.segments)


async def test_the_cut_into_messages_changes_no_sample(client: AsyncClient) -> None:
    """Whole, word by word, and in wishes for other chunks: the same bytes for the same seed."""
    whole = await audio_of(client, TEXT)
    words = await audio_of(client, re.split(r"(?<= )", TEXT))
    chunked = await audio_of(client, TEXT, SpeechOptions(seed=7, max_lead_s=3600.0, first_chunk_s=0.1, max_chunk_s=0.1))

    assert len(whole) > 24000
    assert whole == words
    assert whole == chunked


async def test_neighbors_change_no_sample(client: AsyncClient) -> None:
    """Alone or among seven others that speak something else, an utterance sounds the same."""
    alone = await audio_of(client, TEXT)
    others = [audio_of(client, TEXT[i:], SpeechOptions(seed=i, max_lead_s=3600.0)) for i in range(7)]
    together, *_ = await asyncio.gather(audio_of(client, TEXT), *others)

    assert alone == together


async def test_another_seed_is_another_reading(client: AsyncClient) -> None:
    """Without a seed the server draws one and tells it, and with it the same comes again."""
    speech = client.speak(TEXT, SpeechOptions(max_lead_s=3600.0))
    drawn = b"".join([chunk.audio async for chunk in speech])
    assert speech.started is not None
    again = await audio_of(client, TEXT, SpeechOptions(seed=speech.started.seed, max_lead_s=3600.0))

    assert drawn == again
    assert drawn != await audio_of(client, TEXT)


async def test_first_audio_comes_before_the_last_text(client: AsyncClient) -> None:
    """A listener hears the beginning of a long utterance while its end is not written yet."""
    has_audio = asyncio.Event()

    async def slowly() -> AsyncIterator[str]:
        yield "This is the beginning of a long speech, and it goes on. "
        await asyncio.wait_for(has_audio.wait(), 20)
        yield "Only now the end was written."

    speech = client.speak(slowly(), FAST)
    async for _ in speech:
        has_audio.set()

    assert speech.finished is not None
    assert "Only now the end was written." in "".join(segment.text for segment in speech.segments)


async def test_flush_speaks_an_unfinished_sentence(client: AsyncClient) -> None:
    """Without a full stop nothing is cut; flush speaks it, and the utterance goes on."""
    async with client.converse(FAST) as conversation:
        events = aiter(conversation)
        await conversation.send_text("Well")
        await conversation.flush()
        while not isinstance(event := await anext(events), SegmentFinished):
            pass
        await conversation.send_text(" then.")
        await conversation.finish()
        rest = await until_finished(events)

    texts = [event.text, *(later.text for later in rest if isinstance(later, SegmentFinished))]
    assert "Well then." == "".join(texts)
    assert 0 == rest[-1].utterance_index


async def test_utterances_follow_each_other(client: AsyncClient) -> None:
    """Each has its own number, start and totals, and sounds as it would alone."""
    async with client.converse(FAST) as conversation:
        for text in ("One.", "Two."):
            await conversation.send_text(text)
            await conversation.end_utterance()
        await conversation.finish()
        events = [event async for event in conversation]
    first = [event for event in events if event.utterance_index == 0]
    second = [event for event in events if event.utterance_index == 1]

    assert events == first + second
    assert (Started, Finished, Started, Finished) == (*(type(e) for e in (first[0], first[-1], second[0], second[-1])),)
    assert await audio_of(client, "Two.") == audio_in(second)


async def test_a_later_config_takes_effect_on_the_text_after_it(client: AsyncClient) -> None:
    """Text before it is spoken as it was configured, text after it as the next utterance, in another format."""
    async with client.converse(FAST) as conversation:
        await conversation.send_text("One.")
        await conversation.configure(
            SpeechOptions(voice="tiny-two", encoding=Encoding.MULAW, sample_rate_hz=8000, seed=7, max_lead_s=3600.0)
        )
        await conversation.send_text("Two.")
        await conversation.finish()
        events = [event async for event in conversation]
    starts = [event for event in events if isinstance(event, Started)]

    assert [("tiny", 24000), ("tiny-two", 8000)] == [(start.voice, start.sample_rate_hz) for start in starts]
    assert [0, 1] == [start.utterance_index for start in starts]
    assert await audio_of(client, "One.") == audio_in(event for event in events if event.utterance_index == 0)


async def test_voices_differ(client: AsyncClient) -> None:
    """Another voice says the same words at the same times, in another sound."""
    options = SpeechOptions(voice="tiny-two", seed=FAST.seed, max_lead_s=FAST.max_lead_s)
    heard, other = await audio_of(client, "One."), await audio_of(client, "One.", options)

    assert len(heard) == len(other)
    assert heard != other


async def test_a_repeated_config_is_harmless(client: AsyncClient) -> None:
    """Tools that send their messages in a cycle speak one utterance after the other."""
    async with client.converse(FAST) as conversation:
        for _ in range(2):
            await conversation.configure(FAST)
            await conversation.send_text("Again.")
        await conversation.finish()
        events = [event async for event in conversation]

    assert [0, 1] == [event.utterance_index for event in events if isinstance(event, Finished)]


async def test_a_stream_without_text_ends_well(client: AsyncClient) -> None:
    """A config alone is no utterance and no error."""
    async with client.converse(FAST) as conversation:
        await conversation.send_text("")
        await conversation.finish()

        assert [] == [event async for event in conversation]


@pytest.mark.parametrize("text", ["   \n\t ", "\N{GRINNING FACE}", "...", "\x00\x07"])
async def test_text_that_cannot_be_spoken_is_answered(client: AsyncClient, text: str) -> None:
    """White space, emoji, punctuation and control characters end well, with no audio or hardly any."""
    speech = client.speak(text, FAST)
    async for _ in speech:
        pass

    assert speech.finished is not None
    assert all(segment.reason is not SegmentEnd.OTHER for segment in speech.segments)


async def test_words_come_with_their_times(client: AsyncClient) -> None:
    """If asked for, every word is reported once, in order, not before its chunk and where it stands in the text."""
    speech = client.speak(TEXT, SpeechOptions(seed=7, max_lead_s=3600.0, word_timings=True))
    chunks = [chunk async for chunk in speech]
    words = [word for chunk in chunks for word in chunk.words]
    texts = {segment.segment_index: segment.text for segment in speech.segments}

    assert [word.text for word in words] == [
        texts[word.segment_index][word.character_offset : word.character_offset + word.character_count]
        for word in words
    ]
    assert words == sorted(words, key=lambda word: word.start_s)
    for chunk in chunks:
        for word in chunk.words:
            assert chunk.start_s - 1e-6 <= word.start_s < chunk.start_s + chunk.duration_s


async def test_words_are_not_sent_unasked(client: AsyncClient) -> None:
    """The default costs no bytes."""
    assert [] == [word async for chunk in client.speak("Hello there.", FAST) for word in chunk.words]


@pytest.mark.parametrize(
    ("encoding", "sample_rate_hz"),
    [(Encoding.PCM_S16LE, 16000), (Encoding.FLOAT32, 48000), (Encoding.ALAW, 8000), (Encoding.MULAW, 8000)],
)
async def test_every_format_has_the_same_length(client: AsyncClient, encoding: Encoding, sample_rate_hz: int) -> None:
    """Encoding and rate change the bytes, not the duration."""
    speech = client.speak("Hello.", FAST)
    native = b"".join([chunk.audio async for chunk in speech])
    other = await audio_of(
        client,
        "Hello.",
        SpeechOptions(seed=7, max_lead_s=3600.0, encoding=encoding, sample_rate_hz=sample_rate_hz),
    )

    expected_samples = len(native) // 2 * sample_rate_hz / 24000
    assert abs(len(other) / encoding.sample_bytes - expected_samples) <= 1


async def test_voices_are_described(client: AsyncClient) -> None:
    """The list is ordered by name, names its default, and says which parameters there are."""
    voices = await client.voices()
    voice = await client.voice()

    assert ["tiny", "tiny-two"] == [listed.name for listed in voices]
    assert voices[0] == voice
    assert voice.is_default
    assert voice.sampling["temperature"].low <= voice.sampling["temperature"].default
    assert [] == await client.voices("de")
    assert 2 == len(await client.voices("en"))
    with pytest.raises(RequestError, match="no voice"):
        await client.voice("nobody")


async def test_a_waiting_conversation_costs_no_place(client: AsyncClient) -> None:
    """Twenty idle streams on eight slots leave room for one that speaks."""
    waiting: list[Conversation] = []
    for _ in range(20):
        conversation = client.converse(FAST)
        await conversation.send_text("")
        waiting.append(conversation)

    assert await audio_of(client, "Hello.")
    for conversation in waiting:
        conversation.close()
