from llm_client.usage import Usage, usd_text


def test_usage_is_told_in_words():
    assert Usage(2, 1000, 0, 50, 0.0012).text() == "2 replies, 1,000 input and 50 output tokens, $0.0012"
    assert "(400 of them cached)" in Usage(2, 1000, 400, 50, 3).text()
    assert Usage(2, unpriced=2).cost_text() == "cost unknown"
    assert Usage(3, usd=1, unpriced=2).cost_text() == "$1.00 and the unknown cost of 2 replies"
    assert (
        Usage(1, usd=1, unanswered_usd=0.5).cost_text().endswith("at most $0.5000 for requests whose reply never came)")
    )


def test_dollars():
    assert [usd_text(x) for x in (0, 0.00012, 0.5, 1234.567)] == ["$0.00", "$0.0001", "$0.5000", "$1,234.57"]
