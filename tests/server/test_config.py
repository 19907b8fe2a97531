"""Settings come from a file and the environment, and nothing wrong gets through."""

from pathlib import Path

import pytest

from server.config import Settings, load_settings, settings_from
from server.errors import SettingsError


def test_everything_has_a_default() -> None:
    """Without a file the server has settings it can start with."""
    assert Settings() == load_settings()


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    """Later sources win key by key; names outside the prefix are nobody's business."""
    path = tmp_path / "server.toml"
    path.write_text('[listen]\nport = 1234\nhost = "::"\n[scheduling]\nlead_limit_s = 3\n')
    settings = load_settings(path, {"ANTIPHON_LISTEN__PORT": "4321", "LISTEN__HOST": "elsewhere", "ANTIPHON_HOME": "x"})

    assert ("::", 4321, 3.0) == (settings.listen.host, settings.listen.port, settings.scheduling.lead_limit_s)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("True", True), ("1", True), ("false", False), ("0", False)]
)
def test_flags_are_read_from_the_environment(text: str, value: bool) -> None:
    """Flags take the words and digits people use."""
    assert value == load_settings(None, {"ANTIPHON_LISTEN__CHANNELZ": text}).listen.channelz


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"listening": {}}, "Settings have no section 'listening'; the sections are 'listen', 'security', 'engine'"),
        ({"listen": {"prot": 1}}, "Settings section 'listen' has no key 'prot'; its keys are 'host', 'port'"),
        ({"listen": {"port": "high"}}, "Setting listen.port must be a whole number, not 'high'."),
        ({"listen": {"port": 1.5}}, "Setting listen.port must be a whole number, not 1.5."),
        ({"listen": {"port": True}}, "Setting listen.port must be a whole number, not True."),
        ({"listen": {"port": 70000}}, "Setting listen.port must lie between 0 and 65535, not be 70000."),
        ({"listen": {"host": 5}}, "Setting listen.host must be a text, not 5."),
        ({"listen": {"channelz": "perhaps"}}, "Setting listen.channelz must be true or false, not 'perhaps'."),
        ({"scheduling": {"margin_s": "nan"}}, "Setting scheduling.margin_s must lie between 0.0 and 10.0, not be nan."),
        (
            {"log": {"level": "loud"}},
            "Setting log.level must be one of 'debug', 'info', 'warning', 'error', not 'loud'.",
        ),
    ],
)
def test_what_is_wrong_is_refused_in_a_sentence(values: dict[str, dict[str, object]], message: str) -> None:
    """The sentence names the key, the value and what would be right."""
    with pytest.raises(SettingsError) as refusal:
        settings_from(values)

    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("text", ["listen = ", "listen = 5", "\xff"])
def test_a_file_that_is_no_settings_file_is_refused(tmp_path: Path, text: str) -> None:
    """Broken TOML, a section that is no table, bytes that are no text: a sentence each."""
    path = tmp_path / "server.toml"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(SettingsError, match=r"settings file|must be a table"):
        load_settings(path, {"ANTIPHON_LISTEN__PORT": "1"})


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that was asked for must be there."""
    with pytest.raises(SettingsError, match=r"Cannot read the settings file .*nowhere\.toml"):
        load_settings(tmp_path / "nowhere.toml")
