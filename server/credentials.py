"""Who may call: certificates of the transport and API keys in the metadata."""

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

import grpc

from server.errors import SettingsError, UnauthenticatedError

_SCHEME = "bearer "


class ApiKeys:
    """The keys that open the server. Only their hashes are kept.

    Args:
        keys: The keys; with none of them every caller is let in.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = tuple(_digest(key) for key in keys)

    def check(self, authorization: str | None) -> None:
        """Lets a caller in or not.

        Args:
            authorization: Value of the `authorization` metadata; None if it was not sent.

        Raises:
            UnauthenticatedError: Keys are wanted, and this is none of them.
        """
        if not self._digests:
            return
        if authorization is None or not authorization.lower().startswith(_SCHEME):
            raise UnauthenticatedError(
                "This server wants an API key: send the metadata `authorization` with the value `Bearer <key>`."
            )
        digest = _digest(authorization[len(_SCHEME) :].strip())
        # Every key is compared, in constant time, so that the answer's delay tells nothing.
        if not any([hmac.compare_digest(digest, known) for known in self._digests]):  # noqa: C419 - no early end
            raise UnauthenticatedError("The API key in the metadata `authorization` is not known to this server.")


def api_keys_from_file(path: str) -> ApiKeys:
    """Reads keys, one a line; empty lines and lines that begin with # are passed over.

    Args:
        path: File to read; empty makes a server that wants no key.

    Raises:
        SettingsError: The file cannot be read or holds no key.
    """
    if not path:
        return ApiKeys()
    lines = (line.strip() for line in _read(path, "security.api_keys_file").decode("utf-8").splitlines())
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise SettingsError(f"Setting security.api_keys_file names {path}, which holds no key; write one key a line.")
    return ApiKeys(keys)


def server_credentials(certificate_file: str, key_file: str, client_ca_file: str) -> grpc.ServerCredentials | None:
    """Reads the certificates of the transport.

    Args:
        certificate_file: PEM of the server's certificate chain; empty serves without TLS.
        key_file: PEM of its private key.
        client_ca_file: PEM of the authority whose clients are let in; empty lets in clients without a certificate.

    Returns:
        None for a server without TLS.

    Raises:
        SettingsError: A file cannot be read, or only a part of them is named.
    """
    if not certificate_file and not key_file:
        if client_ca_file:
            raise SettingsError("Setting security.tls_client_ca_file needs tls_certificate_file and tls_key_file too.")
        return None
    if not certificate_file or not key_file:
        raise SettingsError("Settings security.tls_certificate_file and tls_key_file must be given together.")
    pair = (_read(key_file, "security.tls_key_file"), _read(certificate_file, "security.tls_certificate_file"))
    authority = _read(client_ca_file, "security.tls_client_ca_file") if client_ca_file else None
    return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _read(path: str, setting: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"Setting {setting} names {path}, which cannot be read: {error.strerror}.") from error
