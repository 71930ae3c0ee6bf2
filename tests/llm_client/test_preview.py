from dataclasses import replace

from apportion.llm_client.client import Client
from apportion.llm_client.preview import Preview, named
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
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


def test_what_stays_here_needs_no_consent():
    assert "(stays on this machine)" in preview(base_url="http://localhost:1/v1").text()
    assert "(nothing is sent: replies are recorded)" in preview(provider="recorded").text()


def test_other_programs_get_the_bodies_and_the_caller_s_facts():
    document = preview().to_json()
    assert (document["leaves_this_machine"], document["consent"], document["lacking"]) == (True, False, 2)
    assert document["bodies"][0]["messages"][1] == {"role": "user", "content": "héllo"}
    assert document["requests"] == [{"subject": "", "key": REQUEST.key()}]


def test_a_request_is_named_by_what_it_is_about():
    about = replace(REQUEST, subject="session s1")
    assert named(about) == f"session s1, request {REQUEST.key()}"
