import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.cost.estimate import CostUpperBound, estimate
from apportion.llm_client.cost.prices import Price
from apportion.llm_client.cost.tokens import estimated_input_tokens
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest

PRICE = Price(input=2.0, output=8.0)


def request(text, **options):
    return ChatRequest("m", (ChatMessage("user", text),), **options)


def test_what_is_left_is_counted_and_priced():
    asked = [(request("a" * 400), 50), (request("b" * 40), 50), (request("b" * 40), 50)]
    found = estimate("m", asked, lambda r: None, PRICE)
    tokens = sum(estimated_input_tokens(r) for r, _ in asked[:2])
    assert (found.requests, found.answered, found.remaining) == (2, 0, 2)
    assert (found.input_tokens, found.output_tokens) == (tokens, 100)
    assert found.usd == pytest.approx((tokens * 2 + 100 * 8) / 1e6)
    assert estimate("m", [(request("a", max_tokens=30), 100)], lambda r: None, PRICE).output_tokens == 30
    found = estimate("m", [(request("a"), 1)], lambda r: None, None)
    assert found.usd is None and "cost unknown" in found.text() and found.to_json()["remaining"] == 1


def test_replies_that_are_there_say_how_long_the_others_will_be():
    asked = [(request(str(n)), 100) for n in range(4)]
    found = estimate("m", asked, lambda r: ChatReply("x", "m", 5, 20) if r == asked[0][0] else None, PRICE)
    assert (found.answered, found.output_tokens) == (1, 3 * 20)
    unsaid = estimate("m", asked, lambda r: ChatReply("x", "m") if r == asked[0][0] else None, PRICE)
    assert unsaid.output_tokens == 3 * 100


@given(st.lists(st.tuples(st.text(max_size=8), st.booleans())))
def test_answered_and_remaining_make_up_all(texts):
    there = {text for text, answered in texts if answered}
    asked = [(request(text), 10) for text, _ in texts]
    found = estimate("m", asked, lambda r: ChatReply("", "m") if r.messages[0].content in there else None, PRICE)
    assert (found.answered, found.requests) == (len(there), len({text for text, _ in texts}))


TOKENS = "  for these about 12,000 input tokens and 3,400 output tokens (an estimate): "


def test_the_most_in_words() -> None:
    priced = CostUpperBound("m", 1234, 12_000, 3_400, 0.5, recorded=False)
    assert priced.text() == f"m: at most 1,234 requests\n{TOKENS}at most about $0.5000"
    assert priced.text(" while it rains").startswith("m: at most 1,234 requests while it rains\n")
    unknown = CostUpperBound("m", 1234, 12_000, 3_400, None, False)
    assert unknown.text().endswith("; name a table with --prices FILE")
    assert unknown.text(prices="run.prices").endswith("; name a table with run.prices")
    assert CostUpperBound("m", 1234, 12_000, 3_400, 0.5, True).text().endswith("(an estimate): replies are recorded")
