"""Characters that the voice cannot speak are reported to the client, through a real socket."""

import unicodedata

import pytest

from antiphon_client.aio import AsyncClient
from antiphon_client.events import Finished, SegmentEnd, SegmentFinished
from antiphon_client.options import SpeechOptions

FAST = SpeechOptions(seed=7, max_lead_s=3600.0)


async def spoken(client: AsyncClient, text: str) -> tuple[int, list[SegmentFinished]]:
    """How many bytes of audio a text makes, and the ends of its segments."""
    speech = client.speak(text, FAST)
    byte_count = sum([len(chunk.audio) async for chunk in speech])
    return byte_count, list(speech.segments)


@pytest.mark.parametrize(
    ("text", "unspoken"),
    [
        ("Hello means 你好 in Chinese.", ["你好"]),
        ("The word مرحبا means hello.", ["مرحبا"]),
        ("I met नमस्ते and ห้องน้ำ there.", ["नमस्ते", "ห้องน้ำ"]),
        ("Well done 🎉🎉 and 👨‍👩‍👧 and 🇨🇭!", ["🎉🎉", "👨‍👩‍👧", "🇨🇭"]),
        ("For all ∀x ∈ S, the ∑ is 1.", ["∀", "∈", "∑"]),
        ("A star ★ and a check ✓.", ["★", "✓"]),
        ("See [this](http://a.b) <b>now</b>.", ["(http://a.b)", "<b>", "</b>"]),
        ("One 你. Two 好. Three.", ["你", "好"]),
        ("Only plain words, and π.", []),
    ],
)
async def test_what_is_left_out_of_a_text_is_told(client: AsyncClient, text: str, unspoken: list[str]) -> None:
    """The rest is spoken; what is not is named, in order, in the ends of the segments."""
    byte_count, segments = await spoken(client, text)

    assert byte_count > 0
    assert unspoken == [part for segment in segments for part in segment.unspoken]
    assert all(segment.reason is SegmentEnd.COMPLETED for segment in segments if segment.duration_s)


@pytest.mark.parametrize("text", ["你好", "مرحبا، كيف حالك؟", "🎉", "∑∫∀", "Привет, мир!", "你好。再见。", "🎉 你好 ★"])
async def test_a_text_that_cannot_be_spoken_at_all(client: AsyncClient, text: str) -> None:
    """No audio, no error; every segment says that there was nothing to speak, and all of the text is named."""
    byte_count, segments = await spoken(client, text)
    named = "".join(part for segment in segments for part in segment.unspoken)

    assert byte_count == 0
    assert {segment.reason for segment in segments} == {SegmentEnd.NOTHING_TO_SPEAK}
    assert [char for char in text if unicodedata.category(char)[0] in "LMSN" and char not in named] == []


async def test_an_utterance_without_speech_finishes(client: AsyncClient) -> None:
    """The stream goes on behind it."""
    async with client.converse(FAST) as conversation:
        for text in ("🎉", "Hello."):
            await conversation.send_text(text)
            await conversation.end_utterance()
        await conversation.finish()
        finished = [event async for event in conversation if isinstance(event, Finished)]

    assert [bool(event.duration_s) for event in finished] == [False, True]
