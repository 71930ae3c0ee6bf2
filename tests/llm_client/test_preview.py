import pytest

from apportion.llm_client.client import Client
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.usage import Overrun, Usage, budget_text, exceeded_text, usd_text
from tests.llm_client.openai_server import OpenAIServer, serving

REQUEST = ChatRequest("m", (ChatMessage("system", "be brief"), ChatMessage("user", "héllo")), temperature=0.5)


def preview(**options):
    settings = LLMSettings(**{"base_url": "https://example.org/v1", **options})
    return Preview(settings, (REQUEST,), 3, "--yes HOST", "--look", ("one note",), {"lacking": 2})


REASONING = {"reasoning_effort": "low", "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}


def test_what_is_shown_is_what_is_sent():
    server = OpenAIServer()
    with serving(server):
        settings = LLMSettings(base_url=server.url, model="m", max_tokens=9, **REASONING)
        request = ChatRequest(**settings.asking, messages=REQUEST.messages, schema={"type": "object"})
        (shown,) = Preview(settings, (request,), 1, "", "").to_json()["bodies"]
        with Client(settings) as client:
            client.complete(request)
    assert server.requests == [shown]
    assert shown["reasoning_effort"] == "low"
    assert shown["chat_template_kwargs"] == {"enable_thinking": False}


def test_every_message_is_shown_as_it_is():
    text = preview().text()
    assert text.startswith(
        "3 first requests to https://example.org/v1/chat/completions (LEAVES THIS MACHINE, with --yes HOST only)"
    )
    assert f"one note\n\n===== request 1 of 3 =====\nrequest {REQUEST.key()}\n{{" in text
    assert text.endswith("[system]\nbe brief\n\n[user]\nhéllo\n\nnothing was sent (--look)")
    assert "(stays on this machine)" in preview(base_url="http://localhost:1/v1").text()
    assert "(nothing is sent: replies are recorded)" in preview(provider="recorded").text()


def test_other_programs_get_the_bodies_and_the_caller_s_facts():
    document = preview().to_json()
    assert (document["leaves_this_machine"], document["consent"], document["lacking"]) == (True, False, 2)
    assert document["bodies"][0]["messages"][1] == {"role": "user", "content": "héllo"}
    assert document["requests"] == [{"subject": "", "key": REQUEST.key()}]


def test_usage_is_told_in_words():
    assert Usage(2, 1000, 0, 50, 0.0012).text() == "2 replies, 1,000 input and 50 output tokens, $0.0012"
    assert "(400 of them cached)" in Usage(2, 1000, 400, 50, 3).text()
    assert Usage(2, unpriced=2).cost_text() == "cost unknown"
    assert Usage(3, usd=1, unpriced=2).cost_text() == "$1.00 and the unknown cost of 2 replies"
    assert (
        Usage(1, usd=1, unanswered_usd=0.5).cost_text().endswith("at most $0.5000 for requests whose reply never came)")
    )
    assert [usd_text(x) for x in (0, 0.00012, 0.5, 1234.567)] == ["$0.00", "$0.0001", "$0.5000", "$1,234.57"]
    assert Usage(3, usd=1, uncounted=2).cost_text() == (
        "$1.00 (2 replies that the server did not count taken at their dearest)"
    )


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
