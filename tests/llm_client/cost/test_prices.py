import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.cost.prices import SHIPPED, Price, find_price
from apportion.llm_client.errors import SetupError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest

PRICE = Price(input=2.0, cached_input=0.5, output=8.0)


def test_the_shipped_table_has_the_default_model_and_says_its_date():
    expected = Price(input=0.4, cached_input=0.1, output=1.6, max_output_tokens=32768, batch=0.5)
    assert find_price("gpt-4.1-mini") == expected
    assert find_price("gpt-4.1-mini-2025-04-14") == find_price("gpt-4.1-mini")
    assert find_price("my-own") is None
    shipped = SHIPPED.read_text()
    assert 'as_of = "2026-' in shipped and "Prices change" in shipped


def test_a_table_of_ones_own_goes_first_or_is_missed(tmp_path):
    own = tmp_path / "prices.toml"
    own.write_text('[models]\n"my-own" = { input = 1, output = 2 }\n"gpt-4o" = { input = 9, output = 9 }\n')
    assert find_price("my-own", own) == Price(input=1, output=2)
    assert find_price("gpt-4o", own).input == 9
    assert find_price("o3-mini", own) == find_price("o3-mini")
    with pytest.raises(SetupError, match=r"none\.toml cannot be read \(No such file"):
        find_price("m", tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[models\n", "is no TOML file"),
        ('[models]\n"m" = { input = 1 }\n', r"models\.m\.output: missing"),
        ('[models]\n"m" = { input = -1, output = 1 }\n', r"models\.m\.input = -1: .*greater than or equal to 0"),
        ('[models]\n"m" = { input = nan, output = 1 }\n', r"models\.m\.input"),
        ('[models]\n"m" = { input = 1, output = 1, cache = 1 }\n', r"models\.m\.cache: unknown key"),
        ("", "models: missing"),
    ],
)
def test_a_wrong_table_is_told(tmp_path, text, words):
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(SetupError, match=words):
        find_price("m", own)


def test_a_reply_costs_its_tokens_and_less_in_a_batch():
    assert PRICE.reply_usd(ChatReply("x", "m", 1000, 100)) == pytest.approx(0.0028)
    assert PRICE.reply_usd(ChatReply("x", "m", 1000, 100, cached_tokens=800)) == pytest.approx(0.0016)
    assert PRICE.reply_usd(ChatReply("x", "m", None, 100)) is None
    assert Price(input=2.0, output=8.0).reply_usd(ChatReply("x", "m", 10, 0, cached_tokens=10)) == pytest.approx(2e-5)
    price = Price(input=2, cached_input=0.5, output=8, batch=0.5).batched()
    assert price.usd(1e6, 1e6, cached_tokens=5e5) == 1 + 4
    assert price.batched() == price
    own = Price(input=2, output=8)
    assert own.batched().usd(1e6, 1e6) == own.usd(1e6, 1e6)


@given(st.text(), st.integers(1, 1000), st.integers(0, 1000))
def test_no_reply_costs_more_than_the_bound(text, longest, cached):
    request = ChatRequest("m", (ChatMessage("user", text),), max_tokens=longest)
    size = len(text.encode("utf-8", "replace"))
    reply = ChatReply("x", "m", size, longest, cached_tokens=min(size, cached))
    assert PRICE.reply_usd(reply) <= PRICE.most_usd(request)


def test_without_a_longest_reply_there_is_no_bound():
    request = ChatRequest("m", (ChatMessage("user", "x"),))
    assert PRICE.most_usd(request) is None
    assert PRICE.model_copy(update={"max_output_tokens": 1000}).most_usd(request) > 0.008
