from datetime import date

import pytest
from pydantic import ValidationError

from apportion.llm_client.request import ChatRequest
from apportion.llm_client.settings import OPENAI_URL, LLMSettings


def test_what_makes_no_other_request():
    settings = LLMSettings()
    assert (settings.url, settings.host, settings.is_loopback) == (OPENAI_URL, "api.openai.com", False)
    settings = LLMSettings(base_url="HTTPS://Api.Example.com/v1", proxy="SOCKS5://Proxy:1")
    assert (settings.base_url, settings.proxy) == ("https://Api.Example.com/v1", "socks5://Proxy:1")
    one, two = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    keys = {ChatRequest(**LLMSettings(extra_body=values).asking, messages=()).key() for values in (one, two)}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("url", "here"),
    [
        *(
            (url, True)
            for url in ("http://localhost:8000/v1", "http://127.0.0.1/v1", "http://127.9.9.9:1", "http://[::1]:8")
        ),
        *((url, False) for url in ("http://10.0.0.1/v1", "https://localhost.example.com", "http://0.0.0.0:1")),
    ],
)
def test_loopback_is_recognised(url, here):
    assert LLMSettings(base_url=url).is_loopback is here


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8000", "ftp://x/v1", "http://", "http://x:port/v1", "http://[::1/v1"),
        *(" http://x/v1", "http://x/v1 ", "http://local\nhost/v1", "http://local\thost/v1", "http://x/v 1"),
    ],
)
def test_a_base_url_must_be_an_http_address(url):
    with pytest.raises(ValidationError, match="give an address such as"):
        LLMSettings(base_url=url)


@pytest.mark.parametrize("url", ["http://me:secret@x/v1", "http://x/v1?key=secret", "http://x/v1#secret"])
def test_a_base_url_holds_no_secret(url):
    with pytest.raises(ValidationError, match="the key goes into api_key_env"):
        LLMSettings(base_url=url)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"messages": []}, "messages is said by the prompt; remove it from extra_body"),
        ({"model": "x"}, "model is said by the setting model"),
        ({"n": 2}, "n is said by the setting samples"),
        ({"max_completion_tokens": 2}, "said by the setting max_tokens"),
        ({"reasoning_effort": "low"}, "said by the setting reasoning_effort"),
        ({"response_format": {}}, "said by the form of the reply"),
        ({"stream": True}, "stream asks for a reply of another form"),
        ({"tools": []}, "tools asks for a reply of another form"),
        ({"a": float("nan")}, "give values that JSON has"),
        ({"a": [float("inf")]}, "give values that JSON has"),
        ({"a": date(2026, 1, 1)}, "give values that JSON has"),
        ({"a": "\ud800"}, "give values that JSON has"),
    ],
)
def test_the_extra_body_changes_nothing_that_is_said_elsewhere(values, words):
    with pytest.raises(ValidationError, match=words):
        LLMSettings(extra_body=values)
