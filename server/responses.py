"""From what the server works with to messages of the contract."""

from collections.abc import Mapping

from google.protobuf import duration_pb2

from antiphon.v1 import audio_pb2, synthesis_pb2, text_to_speech_service_pb2, voice_pb2
from server.requests import StreamConfig
from server.utterance import (
    AudioChunk,
    AudioEncoding,
    Cancelled,
    Finished,
    FinishReason,
    SegmentFinished,
    Started,
    WordTiming,
)
from server.voice import Voice
from trt_engines.manifest import Manifest

Response = text_to_speech_service_pb2.SynthesizeResponse
UtteranceEnd = synthesis_pb2.UtteranceFinishReason

_ENCODINGS: Mapping[AudioEncoding, audio_pb2.AudioEncoding] = {
    AudioEncoding.PCM_S16LE: audio_pb2.AUDIO_ENCODING_PCM_S16LE,
    AudioEncoding.PCM_F32LE: audio_pb2.AUDIO_ENCODING_FLOAT32,
    AudioEncoding.MULAW: audio_pb2.AUDIO_ENCODING_MULAW,
    AudioEncoding.ALAW: audio_pb2.AUDIO_ENCODING_ALAW,
}
_SEGMENT_ENDS: Mapping[FinishReason, synthesis_pb2.SegmentFinishReason] = {
    FinishReason.COMPLETED: synthesis_pb2.SEGMENT_FINISH_REASON_COMPLETED,
    FinishReason.LENGTH: synthesis_pb2.SEGMENT_FINISH_REASON_LENGTH_LIMIT,
    FinishReason.EMPTY: synthesis_pb2.SEGMENT_FINISH_REASON_NOTHING_TO_SPEAK,
}
_GENDERS: Mapping[str, voice_pb2.VoiceGender] = {
    "female": voice_pb2.VOICE_GENDER_FEMALE,
    "male": voice_pb2.VOICE_GENDER_MALE,
    "neutral": voice_pb2.VOICE_GENDER_NEUTRAL,
}
_SAMPLING_FIELDS = frozenset(field.name for field in synthesis_pb2.SamplingConfig.DESCRIPTOR.fields)


def started(index: int, event: Started, config: StreamConfig) -> Response:
    """Reports that an utterance was accepted, every default filled in."""
    audio_format = audio_pb2.AudioFormat(
        encoding=_ENCODINGS[event.audio.encoding], sample_rate_hz=event.audio.sample_rate_hz
    )
    effective = synthesis_pb2.SynthesisConfig(
        voice=event.voice_name,
        audio_format=audio_format,
        sampling=_sampling(event.params),
        seed=event.seed,
        speaking_rate=1.0,
        language=config.language,
        word_timings=config.word_timings,
        max_lead=duration(event.lead_limit_s),
        max_queue_wait=duration(config.utterance.queue_timeout_s),
        idle_timeout=duration(config.idle_timeout_s),
    )
    if config.heartbeat_interval_s < float("inf"):
        effective.heartbeat_interval.CopyFrom(duration(config.heartbeat_interval_s))
    return Response(utterance_index=index, started=synthesis_pb2.Started(audio_format=audio_format, config=effective))


def audio(index: int, chunk: AudioChunk, has_words: bool) -> Response:
    """A piece of speech; its words only if they were asked for."""
    return Response(
        utterance_index=index,
        audio=synthesis_pb2.AudioChunk(
            content=chunk.audio,
            start_offset=duration(chunk.offset_s),
            duration=duration(chunk.duration_s),
            segment_index=chunk.segment_index,
            words=map(_word, chunk.words) if has_words else (),
        ),
    )


def segment_finished(index: int, event: SegmentFinished) -> Response:
    """Reports the end of a segment."""
    return Response(
        utterance_index=index,
        segment_finished=synthesis_pb2.SegmentFinished(
            segment_index=event.segment_index,
            text=event.text,
            start_offset=duration(event.start_s),
            duration=duration(event.duration_s),
            finish_reason=_SEGMENT_ENDS[event.reason],
            unspoken=event.unspoken,
        ),
    )


def cancelled(index: int, event: Cancelled | None) -> Response:
    """Answers a cancel; without an event nothing was being spoken."""
    if event is None:
        nothing = synthesis_pb2.Cancelled(sent_duration=duration(0.0), played_duration=duration(0.0))
        return Response(utterance_index=index, cancelled=nothing)
    return Response(
        utterance_index=index,
        cancelled=synthesis_pb2.Cancelled(
            sent_duration=duration(event.sent_s),
            played_duration=duration(event.played_s),
            last_word_sent=_word(event.last_word_sent) if event.last_word_sent else None,
            last_word_played=_word(event.last_word_played) if event.last_word_played else None,
        ),
    )


def finished(index: int, event: Finished, end: UtteranceEnd) -> Response:
    """Reports the end of an utterance."""
    return Response(
        utterance_index=index,
        finished=synthesis_pb2.Finished(
            finish_reason=end,
            audio_duration=duration(event.duration_s),
            segment_count=event.segment_count,
            character_count=event.character_count,
            time_to_first_audio=None if event.ttfa_s is None else duration(event.ttfa_s),
        ),
    )


def heartbeat(index: int) -> Response:
    """Says only that the server is alive."""
    return Response(utterance_index=index, heartbeat=synthesis_pb2.Heartbeat())


def voice_message(voice: Voice, manifest: Manifest, is_default: bool) -> voice_pb2.Voice:
    """Describes a voice."""
    message = voice_pb2.Voice(
        name=voice.name,
        display_name=voice.display_name,
        description=voice.description,
        languages=voice.language_codes,
        sample_rate_hz=voice.sample_rate_hz,
        license=manifest.licence,
        word_timings=manifest.capabilities.word_times,
        speaking_rate=manifest.capabilities.speed,
        default=is_default,
        gender=_GENDERS[voice.gender],
        sampling_parameters=[
            voice_pb2.SamplingParameter(
                name=param.name, default_value=param.default, min_value=param.min, max_value=param.max
            )
            for param in manifest.step.params
        ],
    )
    if voice.created_s is not None:
        message.custom = True
        message.create_time.FromNanoseconds(round(voice.created_s * 1e9))
    return message


def duration(seconds: float) -> duration_pb2.Duration:
    """A number of seconds as the contract writes it."""
    whole, nanos = divmod(round(seconds * 1e9), 1_000_000_000)
    return duration_pb2.Duration(seconds=whole, nanos=nanos)


def _sampling(params: Mapping[str, float]) -> synthesis_pb2.SamplingConfig:
    sampling = synthesis_pb2.SamplingConfig()
    for name, value in params.items():
        if name == "top_k":
            sampling.top_k = round(value)
        elif name in _SAMPLING_FIELDS:
            setattr(sampling, name, value)
        else:
            sampling.family_parameters[name] = value
    return sampling


def _word(word: WordTiming) -> synthesis_pb2.WordTiming:
    return synthesis_pb2.WordTiming(
        text=word.text,
        start_offset=duration(word.start_s),
        segment_index=word.segment_index,
        character_offset=word.char_start,
        character_count=word.char_end - word.char_start,
    )
