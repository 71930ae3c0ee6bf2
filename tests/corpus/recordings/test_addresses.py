"""Which addresses recordings are read from, and what their errors say and do not say."""

import io
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.recordings import addresses
from apportion.corpus.recordings.addresses import (
    HOSTS,
    Bucket,
    ChangedError,
    Remote,
    TryAgainError,
    Web,
    address_fault,
    shown,
    source_of,
)
from apportion.foundation.errors import UnitError
from apportion.foundation.files import is_address
from tests.corpus.recordings.web import serve

SECRET = "AKIAsecret"


@pytest.fixture
def web(monkeypatch):
    with serve() as served:
        monkeypatch.setenv(HOSTS, "localhost, 127.0.0.1")
        served.files["/film.mp4"] = bytes(range(256)) * 8
        yield served


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/a/film.mp4", "https://example.org/film.mp4", "memory://film.mp4", "HTTPS://example.org/f%20.wav"],
)
def test_addresses_that_may_be_read(url):
    assert is_address(url) and address_fault(url) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "no address that recordings are read from; allowed are s3://"),
        ("ftp://host/film.mp4", "no address that recordings are read from"),
        ("http://example.org/film.mp4", "is not encrypted"),
        ("https:///film.mp4", "no address of a file"),
        ("https://example.org", "no address of a file"),
        ("s3://bucket", "no address of a file"),
        ("https://example.org:x/film.mp4", "no address of a file"),
        ("https://example.org/a b.mp4", "no address of a file"),
        ("https://example.org/a\n.mp4", "no address of a file"),
        (f"https://host/film.mp4?X-Amz-Signature={SECRET}", "which may be a secret"),
        (f"https://ann:{SECRET}@host/film.mp4", "which may be a secret"),
        (f"s3://{SECRET}@bucket/film.mp4", "which may be a secret"),
        (f"https://host/film.mp4#{SECRET}", "which may be a secret"),
    ],
)
def test_other_addresses_are_refused_and_no_secret_is_said(url, words):
    fault = address_fault(url)
    assert fault is not None and words in fault[0] and fault[1]
    with pytest.raises(UnitError, match=words) as raised:
        source_of(url)
    assert SECRET not in str(raised.value)


def test_an_address_whose_package_is_missing_names_it(monkeypatch):
    monkeypatch.setattr(addresses, "find_spec", lambda name: None)
    assert address_fault("s3://bucket/f.mp4") == (
        "needs the package s3fs", "Install it with `pip install 'apportion[s3]'`."
    )  # fmt: skip
    assert "pip install gcsfs" in (address_fault("gs://bucket/f.mp4") or ("", ""))[1]


@given(st.text(), st.text(alphabet="abc?#@:/", max_size=12))
def test_what_is_shown_of_an_address_has_no_query_and_no_user(host, rest):
    told = shown(f"https://ann:{SECRET}@{host}/{rest}?{SECRET}")
    assert SECRET not in told and "?" not in told and told.isascii() and told.isprintable()


def test_size_state_and_parts_of_a_recording(web):
    source = Web(f"{web.url}/film.mp4")
    remote = source.look()
    assert remote == Remote(2048, '"one"', None) and web.sent == 1
    file = io.BytesIO()
    source.copy(file, 0, 100, remote)
    assert file.getvalue() == web.files["/film.mp4"][:100]
    web.files["/none.mp4"] = b""
    assert Web(f"{web.url}/none.mp4").look().size == 0


def test_a_recording_that_became_another_one_is_told(web):
    source = Web(f"{web.url}/film.mp4")
    remote = source.look()
    with pytest.raises(ChangedError):
        source.copy(io.BytesIO(), 0, 100, Remote(4096, '"one"', None))
    web.tags["/film.mp4"] = '"two"'
    with pytest.raises(ChangedError):
        source.copy(io.BytesIO(), 0, 100, remote)
    web.ranges, web.tags = False, {}
    with pytest.raises(ChangedError):
        source.copy(io.BytesIO(), 0, 100, Remote(100, '"one"', None))


@pytest.mark.parametrize(
    ("status", "words"), [(403, "may not be read"), (404, "is not there"), (451, "cannot be read")]
)
def test_what_a_server_refuses_names_the_file_and_the_answer(web, status, words):
    web.spoil = lambda path, count: status
    with pytest.raises(
        UnitError, match=rf"/film.mp4 {words} \(the server answered {status}\)\. Correct the address \(of a rec"
    ):
        Web(f"{web.url}/film.mp4").look()


def test_what_may_come_the_next_time_is_told_apart(web, monkeypatch):
    web.spoil = lambda path, count: 503
    with pytest.raises(TryAgainError, match=r"answered 503"):
        Web(f"{web.url}/film.mp4").look()
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    with pytest.raises(TryAgainError, match=r"ConnectionError"):
        Web("http://127.0.0.1:1/film.mp4").look()
    web.spoil, web.cut = lambda path, count: None, [7]
    with pytest.raises(TryAgainError):
        Web(f"{web.url}/film.mp4").copy(io.BytesIO(), 0, 100, Remote(2048, '"one"', None))


def test_a_length_that_is_not_said_is_an_error(web):
    web.said = web.ranges = False
    with pytest.raises(UnitError, match=r"does not say how long it is"):
        Web(f"{web.url}/film.mp4").look()


def test_redirects_are_followed_a_few_times_to_hosts_that_may_be_asked(web, monkeypatch):
    web.redirects["/a.mp4"] = f"/film.mp4?token={SECRET}"
    web.files[f"/film.mp4?token={SECRET}"] = b"found"
    assert Web(f"{web.url}/a.mp4").look().size == 5
    web.redirects["/round.mp4"] = "/round.mp4"
    with pytest.raises(UnitError, match=r"more than 3 redirects"):
        Web(f"{web.url}/round.mp4").look()
    web.redirects["/b.mp4"] = f"http://10.0.0.1/film.mp4?token={SECRET}"
    with pytest.raises(UnitError, match=r"leads to http://10.0.0.1/film.mp4, which is not encrypted") as raised:
        Web(f"{web.url}/b.mp4").look()
    assert SECRET not in str(raised.value)
    web.redirects["/c.mp4"] = "https://169.254.169.254/latest"
    with pytest.raises(UnitError, match=f"private network, and you have not agreed .* set {HOSTS}=169.254.169.254"):
        Web(f"{web.url}/c.mp4").look()


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1"])
def test_names_of_private_hosts_are_refused(monkeypatch, address):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked: [(None, None, None, "", (address, 443))])
    with pytest.raises(UnitError, match=r"films.example is a host of this machine or of a private network"):
        Web("https://films.example/a.mp4").look()


def test_a_host_that_is_not_known_may_be_known_later(monkeypatch):
    def unknown(*asked):
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(TryAgainError, match=r"the host films.example is not known"):
        Web("https://films.example/a.mp4").look()


def test_recordings_of_a_bucket(monkeypatch):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file("/films/a.mp4", b"0123456789")
    source = Bucket("memory://films/a.mp4")
    remote, file = source.look(), io.BytesIO()
    source.copy(file, 2, 5, remote)
    assert remote.size == 10 and remote.changed and file.getvalue() == b"234"
    memory.pipe_file("/films/a b%.mp4", b"0123")
    assert Bucket("MEMORY://films/a%20b%25.mp4").look().size == 4
    memory.pipe_file("/films/a.mp4", b"9876543210")
    source.copy(file, 5, 7, remote)
    with pytest.raises(ChangedError):
        source.copy(file, 5, 10, remote)
    for gone in ("memory://films/b.mp4", "memory://films"):
        with pytest.raises(UnitError, match=r"is not there. Put the file there or correct the media table"):
            Bucket(gone).look()

    class NoCredentialsError(Exception):
        pass

    for error, told, words in (
        (PermissionError(SECRET), UnitError, "may not be read: the credentials"),
        (NoCredentialsError(SECRET), UnitError, "no credentials. Set AWS_ACCESS_KEY_ID"),
        (RuntimeError(SECRET), TryAgainError, "RuntimeError"),
    ):
        monkeypatch.setattr(type(memory), "info", lambda *asked, error=error, **given: (_ for _ in ()).throw(error))
        with pytest.raises(told, match=words) as raised:
            source.look()
        assert SECRET not in str(raised.value)


def _certificate(folder, name):
    """A certificate for a host, signed by itself, and its key in one file."""
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography comes with moto")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = x509.CertificateBuilder().subject_name(called).issuer_name(called).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(encoding, form, serialization.NoEncryption())
    (folder / name).write_bytes(pem + made.sign(key, hashes.SHA256()).public_bytes(encoding))
    return folder / name


@pytest.mark.parametrize("named", ["films.example", "other.example"])
def test_the_address_that_was_checked_is_asked_though_its_name_leads_elsewhere_by_then(monkeypatch, tmp_path, named):
    """As by DNS rebinding; the certificate is still that of the name."""
    import requests

    certificate, heard, asked = _certificate(tmp_path, named), [], []

    class Film(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(self.headers["Host"])
            self.send_response(206)
            self.send_header("Content-Range", "bytes 0-0/7")
            self.send_header("Content-Length", "1")
            self.end_headers()
            self.wfile.write(b"f")

        def log_message(self, *given):
            pass

    server = HTTPServer(("127.0.0.1", 0), Film)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda connection, name, _: heard.append(name)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    real = socket.getaddrinfo

    def found(host, port, *more, **given):
        if host != "films.example":
            return real(host, port, *more, **given)
        asked.append(host)
        # The first time two that may be read, of which one does not answer; from then on one of this machine's.
        return [(None, None, None, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")[: 3 - len(asked)]]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    anywhere = SimpleNamespace(ip_address=lambda address: SimpleNamespace(is_global=True))
    monkeypatch.setattr(addresses, "ipaddress", anywhere)
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", str(certificate))
    source = Web(f"https://films.example:{server.server_port}/film.mp4")
    try:
        if named == "films.example":
            assert source.look().size == 7
            assert heard == ["films.example", f"films.example:{server.server_port}"]
        else:
            with pytest.raises(TryAgainError, match="SSLError"):
                source.look()
        assert asked == ["films.example"]
    finally:
        server.shutdown()
        server.server_close()
