import base64
import ssl

import pytest

from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.connection_errors import Secrets, distrusted, is_distrusted, why_unreached

SETTINGS = LLMSettings(base_url="https://s.example/v1")


def caused_by(cause):
    error = RuntimeError("Connection error.")
    error.__cause__ = type("ConnectError", (Exception,), {})("all attempts failed")
    error.__cause__.__context__ = cause
    return error


def flawed(code, words="unable to get local issuer certificate"):
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, words
    return caused_by(error)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "it is not valid yet; is this machine's clock right?"),
        (10, "it has expired; whoever runs the server has to renew it"),
        (18, "it is self-signed. If it is yours or your company's, SSL_CERT_FILE=FILE names a PEM file"),
        (19, "it is self-signed"),
        (20, "unable to get local issuer certificate. If it comes from your company, SSL_CERT_FILE=FILE"),
        (62, "it is for another name (unable"),
        (64, "base_url has to say the name that is in the certificate"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_told_with_what_helps(code, words):
    error = flawed(code)
    assert is_distrusted(error)
    told = distrusted(error, SETTINGS)
    assert told.startswith("the certificate of s.example is not trusted: ") and words in told


def test_a_proxy_may_be_the_one_that_is_not_trusted_and_a_broken_handshake_is_none():
    settings = LLMSettings(base_url="https://s.example/v1", proxy="https://p.example:1")
    assert "of s.example (or of the proxy p.example) is not trusted" in distrusted(flawed(18), settings)
    error = caused_by(ssl.SSLEOFError(8, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred"))
    assert not is_distrusted(error) and distrusted(error, SETTINGS) is None


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (TimeoutError(), "nobody answers there"),
        (OSError("no route to host"), "all attempts failed"),
        (
            ExceptionGroup("by address", [OSError("no route to host"), ConnectionRefusedError()]),
            "the connection was refused",
        ),
    ],
)
def test_why_nobody_was_reached(cause, words):
    assert why_unreached(caused_by(cause), SETTINGS) == words


KEY, LOGIN = "sk-canary-0123456789", "me:se cret/ö"
SECRETS = Secrets(KEY, "http://me:se%20cret%2F%C3%B6@proxy:3128")


@pytest.mark.parametrize(
    "said",
    [KEY, LOGIN, "se cret/ö", "me:se%20cret%2F%C3%B6", base64.b64encode(LOGIN.encode()).decode(), KEY[:9], LOGIN[:8]],
)
def test_each_form_is_taken_out_and_a_part_at_the_end_too(said):
    text = SECRETS.out_of(f"the header was {said}")
    assert text in ("the header was [key]", "the header was [login]")


@pytest.mark.parametrize("before", ["", "a", "ab", "Bearer "])
@pytest.mark.parametrize("after", ["", "b", "bc"])
def test_the_key_in_base64_is_taken_out_wherever_it_stands(before, after):
    key = "sk-canary-01234?~>56789"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        said = encode(f"{before}{key}{after}".encode()).decode()
        shown = Secrets(key, None).out_of(f"the header was {said}.")
        assert "[key]" in shown and len(shown) < len("the header was [key].") + 16


def test_secrets_are_taken_out_and_no_other_words():
    assert Secrets("me", None).out_of("bWU=") == "bWU="
    assert SECRETS.out_of(f"{KEY} {LOGIN} {KEY}.") == "[key] [login] [key]."
    assert Secrets(None, "http://me:a@proxy").out_of("a banana for me:a and me") == "a banana for [login] and me"
    assert Secrets(None, None).out_of("text") == "text"
    assert Secrets(None, "http://proxy:1").login is None
