"""Who is let in to a NATS server, and which server is believed: passwords, certificates, signed tokens."""
from __future__ import annotations

import pathlib

from nats_login import Authority, operator_mode
from nats_server import Server, needed
from running import done, run
from running import nothing_is_left_running as nothing_is_left_running
from test_nats import content, made

pytestmark = needed


def goes(leader: pathlib.Path, copy: pathlib.Path, place: str, *login: object) -> None:
    """There and back, with nothing of the login in what is kept or printed."""
    done("ship", leader, "--to", place, "--once", *login)
    done("follow", copy, "--from", place, "--once", *login)
    assert content(copy) == content(leader)
    assert "lag       0" in done("status", copy, "--folder", place, *login)
    done("restore", copy.with_suffix(".restored"), "--from", place, *login)


def refused(leader: pathlib.Path, place: str, *login: object) -> str:
    result = run("ship", leader, "--to", place, "--once", *login)
    assert result.returncode == 1, result.stdout
    return result.stderr


def test_passwords(tmp_path: pathlib.Path) -> None:
    server = Server(tmp_path, 'authorization { user: "ada", password: "sec-ret" }')
    try:
        leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
        for login in ("", "ada:wrong@"):
            assert "wrong" not in refused(leader, server.place(login=login))
        goes(leader, copy, server.place(login="ada:sec-ret@"))
        assert "sec-ret" not in run("status", copy).stdout
        assert b"sec-ret" not in copy.read_bytes()
    finally:
        server.end()


def test_certificates(tmp_path: pathlib.Path) -> None:
    known, strange = Authority(tmp_path, "known"), Authority(tmp_path, "strange")
    certificate, key = known.vouches("server", "IP:127.0.0.1")
    server = Server(tmp_path, f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}')
    try:
        leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
        place = server.place().replace("nats://", "tls://")
        goes(leader, copy, place, "--tls-ca", known.certificate)
        # Nobody vouches for it, or somebody else; and without encryption it lets nobody in.
        for login in ((), ("--tls-ca", strange.certificate), ("--tls-ca", tmp_path / "nowhere.pem")):
            assert place in refused(leader, place, *login)
        refused(leader, server.place())
    finally:
        server.end()


def test_a_server_must_have_the_name_by_which_it_is_asked(tmp_path: pathlib.Path) -> None:
    known = Authority(tmp_path, "known")
    certificate, key = known.vouches("server", "DNS:elsewhere.example")
    server = Server(tmp_path, f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}')
    try:
        place = server.place().replace("nats://", "tls://")
        refused(made(tmp_path / "leader.motte"), place, "--tls-ca", known.certificate)
    finally:
        server.end()


def test_certificates_of_clients(tmp_path: pathlib.Path) -> None:
    known, strange = Authority(tmp_path, "known"), Authority(tmp_path, "strange")
    certificate, key = known.vouches("server", "IP:127.0.0.1")
    server = Server(
        tmp_path,
        f'tls {{ cert_file: "{certificate}", key_file: "{key}", ca_file: "{known.certificate}", verify: true }}')
    try:
        leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
        place = server.place().replace("nats://", "tls://")
        trusted = ("--tls-ca", known.certificate)
        own = known.vouches("ada", "DNS:ada.example")
        goes(leader, copy, place, *trusted, "--tls-cert", own[0], "--tls-key", own[1])
        other = strange.vouches("eve", "DNS:eve.example")
        refused(leader, place, *trusted)
        refused(leader, place, *trusted, "--tls-cert", other[0], "--tls-key", other[1])
        # A certificate with another's key.
        refused(leader, place, *trusted, "--tls-cert", own[0], "--tls-key", other[1])
        assert "go together" in run("ship", leader, "--to", place, "--once", "--tls-cert", own[0]).stderr
    finally:
        server.end()


def test_signed_tokens(tmp_path: pathlib.Path) -> None:
    configuration, ada, eve = operator_mode(tmp_path)
    server = Server(tmp_path, configuration)
    try:
        leader, copy = made(tmp_path / "leader.motte"), tmp_path / "copy.motte"
        goes(leader, copy, server.place(), "--creds", ada)
        refused(leader, server.place())
        refused(leader, server.place(), "--creds", eve)
        refused(leader, server.place(), "--creds", tmp_path / "nowhere.creds")
        seed = ada.read_text().splitlines()[5]
        assert seed.encode() not in copy.read_bytes() and seed not in run("status", copy).stdout
    finally:
        server.end()
