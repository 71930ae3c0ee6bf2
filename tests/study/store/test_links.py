import pytest

from apportion.foundation.errors import InputError
from apportion.study.store.links import new_token, served_address


def test_tokens_are_long_others_each_time_and_need_no_escape():
    tokens = {new_token() for _ in range(1_000)}
    assert len(tokens) == 1_000 and {len(token) for token in tokens} == {32}
    assert set("".join(tokens)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    "url",
    ["", "study.example", "localhost:1", "javascript:1", "ftp://study.example", "https://", "https://x.example/?q=1",
     "https://me@x.example", "http://x.example:99999"],
)  # fmt: skip
def test_what_is_no_address_of_a_server(url):
    with pytest.raises(InputError, match=f"--address {url.replace('?', '.')}: an address such as"):
        served_address(url, "--address")


def test_an_address_of_a_server_ends_without_a_slash():
    assert served_address("https://x.example:8443/here/", "--address") == "https://x.example:8443/here"
