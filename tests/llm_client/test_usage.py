import pytest

from apportion.llm_client.usage import Overrun, Usage, budget_text, exceeded_text, usd_text


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


def test_a_budget_that_is_kept_says_what_is_left_and_never_less_than_nothing():
    assert budget_text(2.0, Usage(1, usd=0.5)) == "$1.50 left of the budget of $2.00"
    assert budget_text(2.0, Usage(1, usd=0.5, unanswered_usd=0.25, in_batches_usd=0.25)).startswith("$1.00 left")
    assert budget_text(2.0, Usage(1, usd=1.5, unanswered_usd=1)) == "$0.00 left of the budget of $2.00"
    assert exceeded_text(0.3, Usage(3, usd=0.1 + 0.2)) is None


@pytest.mark.parametrize(
    ("used", "cause"),
    [
        (Usage(1, usd=2.3, overrun=Overrun(0.5, 300, 5000)),
         "because the server counted 5,000 tokens for a reply where at most 300 were asked ($0.5000 more than "
         "foreseen)"),
        (Usage(9, usd=2.3, overrun=Overrun(0.5, 900, 9000, 2, True)),
         "because 2 replies took about 9,000 tokens, not all counted by the server, where at most 900 were asked "
         "($0.5000 more than foreseen)"),
        (Usage(1, usd=2.3), ": $2.30 had been paid before it was set"),
        (Usage(1, usd=2.3, overrun=Overrun(0.1, 300, 5000)), ": $2.30 had been paid before it was set"),
    ],
)  # fmt: skip
def test_a_budget_that_is_exceeded_is_called_so_with_its_cause(used, cause):
    said = budget_text(2.0, used)
    assert said == "the budget of $2.00 is exceeded by $0.3000" + (cause if cause[0] == ":" else f", {cause}")


def test_replies_that_the_server_did_not_count_are_told():
    assert Usage(3, usd=1, uncounted=2).cost_text() == (
        "$1.00 (2 replies that the server did not count taken at their dearest)"
    )
