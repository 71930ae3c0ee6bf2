from __future__ import annotations

from llm_client.preview import Preview
from llm_client.request import ChatRequest
from llm_client.settings import LLMSettings

ASKED = ChatRequest("m", ())


def test_where_the_text_goes_and_by_whose_consent_is_said_first():
    far = LLMSettings(model="m", base_url="https://far.example/v1", send_to="far.example")
    shown = Preview(far, (ASKED,), 1200, "your word", "a look", ("and more",), {"count": 3})
    first, _, note = shown.text().split("\n\n")[0].splitlines()
    assert first == (
        "1,200 first requests to https://far.example/v1/chat/completions (LEAVES THIS MACHINE, with your word only)"
    )
    assert note == "and more" and "===== request 1 of 1,200 =====" in shown.text()
    assert shown.text().endswith("\n\nnothing was sent (a look)") and shown.to_json()["count"] == 3
    assert shown.to_json()["leaves_this_machine"] and shown.to_json()["consent"]


def test_what_stays_here_needs_no_consent():
    near = Preview(LLMSettings(model="m", base_url="http://localhost:9/v1"), (), 0, "your word", "a look")
    assert "(stays on this machine)" in near.text() and "your word" not in near.text()
    recorded = Preview(LLMSettings(model="m", provider="recorded"), (), 0, "your word", "a look")
    assert "nothing is sent: replies are recorded" in recorded.text() and not recorded.to_json()["consent"]
