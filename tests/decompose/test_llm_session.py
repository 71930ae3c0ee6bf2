"""The asker of a decomposition says what a person can change by the keys of its settings."""

import pytest

from apportion.decompose.language_models import asker_of
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.request import ChatMessage, ChatRequest
from tests.llm_client.openai_server import Fault, OpenAIServer, serving


def test_what_is_missing_is_named_by_its_keys(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match=r"^decompose\.llm: .*send_to = 'api\.openai\.com'"):
        asker_of(DecomposeSettings()).check()
    with pytest.raises(InputError, match=r"^decompose\.llm: .*none\.jsonl cannot be read"):
        asker_of(DecomposeSettings(llm={"provider": "recorded"}), recorded=tmp_path / "none.jsonl").check()


def test_a_request_that_does_not_fit_is_told_with_the_key_that_parts_dialogues():
    fault = Fault(400, "maximum context length is 10 tokens", "context_length_exceeded")
    with serving(OpenAIServer(answer=lambda body: fault)) as server:
        settings = DecomposeSettings(llm={"base_url": server.url, "max_retries": 0})
        with asker_of(settings) as asker, pytest.raises(UnitError, match=r"decompose\.llm\.context_tokens says"):
            asker.complete(ChatRequest("m", (ChatMessage("user", "?"),)))
