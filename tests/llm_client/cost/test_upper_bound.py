"""The most that a model will be asked."""

from apportion.llm_client.cost.estimate import CostUpperBound

TOKENS = "  for these about 12,000 input tokens and 3,400 output tokens (an estimate): "


def test_the_most_in_words() -> None:
    priced = CostUpperBound("m", 1234, 12_000, 3_400, 0.5, recorded=False)
    assert priced.text() == f"m: at most 1,234 requests\n{TOKENS}at most about $0.5000"
    assert priced.text(" while it rains").startswith("m: at most 1,234 requests while it rains\n")


def test_no_price_is_said_and_recorded_replies_need_none() -> None:
    assert (
        CostUpperBound("m", 1234, 12_000, 3_400, None, False).text().endswith("cost unknown: no price for this model")
    )
    assert CostUpperBound("m", 1234, 12_000, 3_400, 0.5, True).text().endswith("(an estimate): replies are recorded")


def test_all_of_it_for_other_programs() -> None:
    assert list(CostUpperBound("m", 1, 2, 3, None, True).to_json()) == [
        "model", "requests", "input_tokens", "output_tokens", "usd", "recorded",
    ]  # fmt: skip
