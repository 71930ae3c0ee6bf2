"""What stands in no message, however a server or a proxy says it again."""

import base64

import pytest

from apportion.llm_client.transport.connection_errors import Secrets

KEY, LOGIN = "sk-canary-0123456789", "me:se cret/ö"
SECRETS = Secrets(KEY, "http://me:se%20cret%2F%C3%B6@proxy:3128")


@pytest.mark.parametrize(
    "said",
    [KEY, LOGIN, "se cret/ö", "me:se%20cret%2F%C3%B6", base64.b64encode(LOGIN.encode()).decode(), KEY[:9], LOGIN[:8]],
)
def test_each_form_is_taken_out_and_a_part_at_the_end_too(said):
    text = SECRETS.out_of(f"the header was {said}")
    assert text in ("the header was [key]", "the header was [login]")


def test_both_at_once_and_several_times():
    assert SECRETS.out_of(f"{KEY} {LOGIN} {KEY}.") == "[key] [login] [key]."


def test_a_short_password_hides_no_other_words():
    assert Secrets(None, "http://me:a@proxy").out_of("a banana for me:a and me") == "a banana for [login] and me"


def test_without_secrets_nothing_changes():
    assert Secrets(None, None).out_of("text") == "text"
    assert Secrets(None, "http://proxy:1").login is None
