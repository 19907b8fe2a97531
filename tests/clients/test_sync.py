"""The client without asyncio, against a real server in another process."""

import threading
import time
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon_client.errors import ServerUnavailableError, VoiceNotFoundError
from antiphon_client.options import ConnectionOptions, Retry, SpeechOptions
from antiphon_client.sync import Client
from tests.clients.blocking_server import blocking_server

FAST = SpeechOptions(seed=7, max_lead_s=3600.0)


@pytest.fixture(scope="module")
def client(tiny_bundle: Path) -> Iterator[Client]:
    """A client of a server."""
    with blocking_server(tiny_bundle) as target, Client(target) as client:
        yield client


def test_a_plain_loop_hears_everything(client: Client) -> None:
    """Chunks come in a `for` loop, and the speech knows what happened."""
    speech = client.speak("Hello there.", FAST)
    audio = b"".join(chunk.audio for chunk in speech)

    assert speech.started is not None
    assert speech.finished is not None
    assert len(audio) == round(speech.finished.duration_s * 24000) * 2
    assert ["Hello there."] == [segment.text for segment in speech.segments]
    assert (None, True) == (speech.cancelled, (speech.ttfa_s or 0) > 0)


def test_a_generator_may_take_its_time(client: Client) -> None:
    """Text that arrives slowly is spoken as it comes; nobody else is blocked meanwhile."""

    def slowly() -> Iterator[str]:
        for word in ("Hello ", "there."):
            time.sleep(0.05)
            yield word

    audio = b"".join(chunk.audio for chunk in client.speak(slowly(), FAST))

    assert audio == b"".join(chunk.audio for chunk in client.speak("Hello there.", FAST))


def test_save_writes_a_file(client: Client, tmp_path: Path) -> None:
    """The length returned is that of the file."""
    duration_s = client.speak("Hello there.", FAST).save(tmp_path / "out.wav")

    with wave.open(str(tmp_path / "out.wav")) as file:
        assert pytest.approx(duration_s) == file.getnframes() / file.getframerate()


def test_another_thread_may_interrupt(client: Client) -> None:
    """Barge-in while the loop waits for the next chunk."""
    speech = client.speak("A sentence like many. " * 100, SpeechOptions(seed=7, max_lead_s=0.2))
    chunks = []
    for chunk in speech:
        chunks.append(chunk)
        if len(chunks) == 2:
            threading.Thread(target=speech.cancel).start()

    assert speech.cancelled is not None
    assert speech.finished is None


def test_leaving_the_loop_is_fine(client: Client) -> None:
    """Whoever breaks out of the loop can speak again at once."""
    for _ in client.speak("A sentence like many. " * 100, FAST):
        break

    assert list(client.speak("Hello.", FAST))


def test_voices_are_listed(client: Client) -> None:
    """The calls about voices are there too, with their errors."""
    assert ["tiny", "tiny-two"] == [voice.name for voice in client.voices()]
    assert client.voice().is_default
    with pytest.raises(VoiceNotFoundError):
        client.voice("nobody")


def test_a_closed_client_may_be_closed_again() -> None:
    """`close` twice is harmless, and a server that is not there is an error of its own."""
    client = Client("127.0.0.1:1", ConnectionOptions(retry=Retry(attempt_count=1)))
    with pytest.raises(ServerUnavailableError):
        client.voices()
    client.close()
    client.close()
