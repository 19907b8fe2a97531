"""API keys and certificates."""

from pathlib import Path

import pytest

from server.credentials import ApiKeys, api_keys_from_file, server_credentials
from server.errors import SettingsError, UnauthenticatedError


def test_a_server_without_keys_lets_everybody_in() -> None:
    """No keys, no check."""
    ApiKeys().check(None)
    api_keys_from_file("").check("Bearer anything")


@pytest.mark.parametrize("value", ["Bearer one", "bearer one", "BEARER  two"])
def test_a_known_key_is_let_in(value: str) -> None:
    """The scheme's case and spaces around the key do not matter."""
    ApiKeys(["one", "two"]).check(value)


@pytest.mark.parametrize("value", [None, "", "one", "Basic one", "Bearer three", "Bearer one two"])
def test_anything_else_is_refused(value: str | None) -> None:
    """A missing header, another scheme and an unknown key are refused, and the sentence does not repeat the key."""
    with pytest.raises(UnauthenticatedError) as refusal:
        ApiKeys(["one", "two"]).check(value)

    assert "three" not in str(refusal.value)


def test_keys_come_from_lines_of_a_file(tmp_path: Path) -> None:
    """Empty lines and comments are passed over."""
    file = tmp_path / "keys"
    file.write_text("# for the team\n\n  secret  \n")

    api_keys_from_file(str(file)).check("Bearer secret")


def test_a_file_without_keys_is_an_error(tmp_path: Path) -> None:
    """A file that was meant to lock the server never opens it."""
    file = tmp_path / "keys"
    file.write_text("# none yet\n")

    with pytest.raises(SettingsError, match="holds no key"):
        api_keys_from_file(str(file))


def test_a_missing_file_is_named() -> None:
    """The sentence names setting and file."""
    with pytest.raises(SettingsError, match=r"security\.api_keys_file names nowhere/keys"):
        api_keys_from_file("nowhere/keys")


@pytest.mark.parametrize(("certificate", "key", "authority"), [("a", "", ""), ("", "b", ""), ("", "", "c")])
def test_half_of_a_certificate_is_an_error(certificate: str, key: str, authority: str) -> None:
    """A server that was meant to speak TLS never speaks plain text."""
    with pytest.raises(SettingsError, match="tls_certificate_file and tls_key_file"):
        server_credentials(certificate, key, authority)


def test_no_certificate_is_plain_text() -> None:
    """Without settings there are no credentials."""
    assert server_credentials("", "", "") is None
