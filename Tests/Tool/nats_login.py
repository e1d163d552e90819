"""What lets a client in to a NATS server: certificates, and the signed tokens of an operator, as `nsc` makes them. Keys
are made by openssl for each test."""
from __future__ import annotations

import base64
import json
import pathlib
import subprocess

#: Of names of keys (https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth).
_KINDS = {"operator": 14 << 3, "account": 0, "user": 20 << 3}
_SEED = 18 << 3


def _openssl(*arguments: object, given: bytes = b"") -> bytes:
    done = subprocess.run(["openssl", *map(str, arguments)], input=given, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Authority:
    """Vouches for certificates."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self._folder = folder
        self.certificate, self._key = folder / f"{name}.pem", folder / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={name}",
                 "-keyout", self._key, "-out", self.certificate)

    def vouches(self, name: str, address: str) -> tuple[pathlib.Path, pathlib.Path]:
        """Certificate and key of one who is reached at `address`, such as `IP:127.0.0.1`."""
        request, key, certificate = (self._folder / f"{name}.{kind}" for kind in ("csr", "key", "pem"))
        more = self._folder / f"{name}.ext"
        more.write_text(f"subjectAltName = {address}\n")
        _openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key,
                 "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
                 "-days", 2, "-extfile", more, "-out", certificate)
        return certificate, key


def _checked(data: bytes) -> str:
    """Base32 with CRC-16 (XMODEM)."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return base64.b32encode(data + crc.to_bytes(2, "little")).decode().rstrip("=")


def _url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Signer:
    """An operator, an account or a user, with a key (Ed25519)."""

    def __init__(self, folder: pathlib.Path, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self._key = folder / f"{name}.ed25519"
        self._key.write_bytes(_openssl("genpkey", "-algorithm", "ed25519"))
        private = _openssl("pkey", "-in", self._key, "-outform", "DER")[-32:]
        public = _openssl("pkey", "-in", self._key, "-pubout", "-outform", "DER")[-32:]
        letter = _KINDS[kind]
        self.public = _checked(bytes([letter]) + public)
        self.seed = _checked(bytes([_SEED | letter >> 5, letter << 3 & 0xFF]) + private)

    def token(self, other: "Signer", **claims: object) -> str:
        """Says, signed, what `other` may do."""
        body = {"jti": "a-test", "iat": 1_700_000_000, "iss": self.public, "sub": other.public, "name": other.name,
                "nats": {"type": other.kind, "version": 2, **claims}}
        text = _url(b'{"typ":"JWT","alg":"ed25519-nkey"}') + "." + _url(json.dumps(body).encode())
        file = self._key.with_suffix(".signed")
        file.write_text(text)
        return text + "." + _url(_openssl("pkeyutl", "-sign", "-rawin", "-inkey", self._key, "-in", file))


def operator_mode(folder: pathlib.Path) -> tuple[str, pathlib.Path, pathlib.Path]:
    """Configuration of a server that lets in whom an operator's account names; credentials of a user, and of one whom
    nobody has named."""
    operator = Signer(folder, "operator", "operator")
    system, account = Signer(folder, "account", "system"), Signer(folder, "account", "people")
    limits = {**dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1), "wildcards": True}
    streams = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
    tokens = {system.public: operator.token(system, limits=limits),
              account.public: operator.token(account, limits={**limits, **streams})}
    preload = ", ".join(f"{name}: {token}" for name, token in tokens.items())
    credentials = []
    for signer, name in ((account, "ada"), (Signer(folder, "account", "stranger"), "eve")):
        user = Signer(folder, "user", name)
        file = folder / f"{name}.creds"
        token = signer.token(user, pub={}, sub={}, subs=-1, data=-1, payload=-1)
        file.write_text(
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")
        credentials.append(file)
    configuration = (
        f"operator: {operator.token(operator)}\nsystem_account: {system.public}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {preload} }}")
    return configuration, credentials[0], credentials[1]
