"""Frozen settings of the server: read once from TOML and the environment, checked at once, unknown keys refused.

Only `app` calls `load_settings`; everything below is handed the part it needs.
"""

import dataclasses
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from server.errors import SettingsError

_ENVIRONMENT_PREFIX = "ANTIPHON_"


Number = TypeVar("Number", int, float)


def _number(default: Number, low: float, high: float = math.inf) -> Number:
    """Declare a numeric field with its inclusive limits."""
    return field(default=default, metadata={"low": low, "high": high})


def _choice(default: str, *choices: str) -> str:
    """Declare a text field that takes one of a few values."""
    return field(default=default, metadata={"choices": choices})


@dataclass(frozen=True, slots=True)
class ListenSettings:
    """Where the server is reached."""

    host: str = "127.0.0.1"
    """Address the gRPC server binds; 0.0.0.0 or :: opens it to the network."""
    port: int = _number(50051, 0, 65535)
    """0 takes any free port."""
    metrics_port: int = _number(9464, -1, 65535)
    """Port of the Prometheus endpoint; 0 takes any free port, -1 turns it off."""
    drain_timeout_s: float = _number(60.0, 0.0)
    """How long running utterances may still speak after SIGTERM."""
    max_message_bytes: int = _number(4 * 1024 * 1024, 1024, 64 * 1024 * 1024)
    """Largest message taken from a client."""
    max_connection_age_s: float = _number(0.0, 0.0)
    """Connections older than this are asked to come again, so that load spreads; 0 keeps them."""
    reflection: bool = True
    """Let clients ask for the contract."""
    channelz: bool = False
    """Let operators ask for the state of every connection; needs grpcio-channelz."""


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """Who may call; every empty field is off."""

    tls_certificate_file: str = ""
    """PEM chain of the server; without it the server speaks plain text."""
    tls_key_file: str = ""
    """PEM key of that certificate."""
    tls_client_ca_file: str = ""
    """PEM authorities; clients must then show a certificate of theirs."""
    api_keys_file: str = ""
    """One key per line; clients must then send one of them."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which bundle runs, and on what."""

    bundle_dir: str = ""
    """Directory of the voice bundle; empty takes the default voice that ships with the server."""
    backend: str = _choice("onnxruntime", "onnxruntime", "tensorrt", "tensorrt-rtx")
    """ONNX Runtime on the CPU, or plans made by `antiphon build-engines` on an NVIDIA GPU."""
    plans_dir: str = ""
    """Where TensorRT plans are; empty for `plans` in the bundle."""
    slot_count: int = _number(32, 1, 4096)
    """Rows of the batch: how many segments can be spoken at once."""
    threads: int = _number(0, 0, 1024)
    """Threads for the networks; 0 takes what the machine has."""
    voices_dir: str = ""
    """Directory in which voices that callers make are kept; empty lets nobody make any."""
    prefix_cache_bytes: int = _number(256 * 1024 * 1024, 0)
    """Memory for keys and values of the voices used last, which are prefilled once; 0 keeps none. ONNX Runtime only."""


@dataclass(frozen=True, slots=True)
class SegmentSettings:
    """Where text is cut for voices that count bytes, as Fish Speech does; other voices cut by sentences and clauses."""

    max_bytes: int = _number(200, 20, 2000)
    """Longest segment in UTF-8 bytes; segments are filled up to it. What Fish Speech calls `chunk_length`."""
    first_bytes: int = _number(24, 0, 2000)
    """A first segment may end with a sentence from so many bytes on; 0 fills it too, exactly as Fish Speech does."""


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """How much the server takes on."""

    max_utterances: int = _number(32, 1, 100_000)
    """Utterances spoken at once; more than `engine.slot_count` lets segments wait for a slot."""
    max_queue: int = _number(64, 0, 100_000)
    """Utterances that may wait for a place, of those that ask to wait."""
    max_load: float = _number(1.0, 0.0, 1.0)
    """Refuse utterances heard live that would keep the engine busier than this share of time; 0 does not predict."""
    max_text_characters: int = _number(200_000, 1)
    """Text of one utterance that may wait to be spoken."""
    stall_timeout_s: float = _number(60.0, 0.1)
    """How long an utterance may hold its slot while its caller takes no audio."""
    prepared_segments: int = _number(3, 1, 1000)
    """Segments of one utterance prepared ahead of the talker."""
    frontend_threads: int = _number(2, 1, 64)
    """Threads that turn text into rows."""


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    """How the batch is shared out."""

    lead_limit_s: float = _number(2.0, 0.05, 60.0)
    """Seconds of audio sent ahead of playback, unless the caller asks for less or more."""
    ttfa_target_s: float = _number(0.15, 0.001, 60.0)
    """When the first audio of new text is due; what the scheduler holds against the deadlines of running utterances."""
    comfort_lead_s: float = _number(0.6, 0.0, 60.0)
    """While anyone is without audio, utterances further ahead than this wait."""
    margin_s: float = _number(0.06, 0.0, 10.0)
    """How long before the listener runs out the next chunk should be there."""
    prefill_budget_s: float = _number(0.02, 0.0, 10.0)
    """Time that prompts should take in one step at most, and no more than running listeners can spare."""
    max_batch_rows: int = _number(0, 0)
    """Segments stepped at once at most; 0 sets no limit but the slots."""
    vocode_budget_s: float = _number(0.01, 0.0, 10.0)
    """Time that one batch of the vocoder should take at most: an urgent first chunk may have to wait for two."""
    chunk_growth: float = _number(2.0, 1.0, 100.0)
    """Each chunk after the first may be this much longer than the one before."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What the server says about itself."""

    level: str = _choice("info", "debug", "info", "warning", "error")
    format: str = _choice("console", "console", "json")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, one section per part of the server."""

    listen: ListenSettings = field(default_factory=ListenSettings)
    security: SecuritySettings = field(default_factory=SecuritySettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    segments: SegmentSettings = field(default_factory=SegmentSettings)
    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)
    log: LogSettings = field(default_factory=LogSettings)


def load_settings(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings: defaults, then the TOML file, then variables such as `ANTIPHON_LISTEN__PORT`.

    Args:
        path: TOML file with one table per section; None reads no file.
        environment: Process environment; only names with the prefix `ANTIPHON_` and two underscores between section
            and key are looked at. None reads no environment.

    Raises:
        SettingsError: The file cannot be read, a key is unknown, or a value is of the wrong type or out of range.
    """
    values = _from_toml(path) if path else {}
    for name, text in (environment or {}).items():
        section, separator, key = name.removeprefix(_ENVIRONMENT_PREFIX).lower().partition("__")
        if name.startswith(_ENVIRONMENT_PREFIX) and separator:
            values[section] = {**values.get(section, {}), key: text}
    return settings_from(values)


def settings_from(values: Mapping[str, Mapping[str, object]]) -> Settings:
    """Build the settings from one mapping per section; text is read as the type of its field.

    Raises:
        SettingsError: As `load_settings`.
    """
    sections = {section.name: section.type for section in dataclasses.fields(Settings)}
    for name in values:
        if name not in sections:
            raise SettingsError(f"Settings have no section {name!r}; the sections are {_listed(sections)}.")
    return Settings(**{name: _section(name, kind, values.get(name, {})) for name, kind in sections.items()})


def _from_toml(path: Path) -> dict[str, Mapping[str, object]]:
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"Cannot read the settings file {path}: {error}.") from error
    for name, values in sections.items():
        if not isinstance(values, Mapping):
            raise SettingsError(f"Settings section {name!r} must be a table of keys and values, not {values!r}.")
    return sections


def _section(name: str, kind: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - any settings dataclass
    fields = {entry.name: entry for entry in dataclasses.fields(kind)}
    for key in values:
        if key not in fields:
            raise SettingsError(f"Settings section {name!r} has no key {key!r}; its keys are {_listed(fields)}.")
    return kind(**{key: _checked(f"{name}.{key}", fields[key], value) for key, value in values.items()})


def _checked(name: str, entry: dataclasses.Field[Any], value: object) -> bool | float | str:
    kind = type(entry.default)
    converted = _converted(kind, value)
    if converted is None:
        raise SettingsError(f"Setting {name} must be {_KIND_NAMES[kind]}, not {value!r}.")
    choices = entry.metadata.get("choices")
    if choices and converted not in choices:
        raise SettingsError(f"Setting {name} must be one of {_listed(choices)}, not {value!r}.")
    low, high = entry.metadata.get("low", -math.inf), entry.metadata.get("high", math.inf)
    if isinstance(converted, int | float) and not low <= converted <= high:
        raise SettingsError(f"Setting {name} must lie between {low} and {high}, not be {converted}.")
    return converted


_KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _converted(kind: type, value: object) -> bool | float | str | None:
    """Return `value` as `kind`, or None when it cannot be read as one; texts come from the environment."""
    if kind is bool and isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.lower())
    if kind is float and type(value) is int:
        return float(value)
    if kind in (int, float) and isinstance(value, str):
        try:
            return int(value) if kind is int else float(value)
        except ValueError:
            return None
    return value if type(value) is kind and isinstance(value, bool | int | float | str) else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
