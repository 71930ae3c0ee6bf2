from concurrent.futures import ThreadPoolExecutor

import pytest

from foundation.errors import InputError
from llm_client.asker import Asker
from llm_client.request import ChatMessage, ChatRequest
from llm_client.settings import LLMSettings
from tests.llm_client.openai_server import OpenAIServer, serving


def test_tools_without_use_need_nothing(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Asker(LLMSettings()) as asker:
        assert asker is not None


def test_what_is_missing_is_told_before_any_work(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match=r"decompose\.llm: .*send_to = 'api\.openai\.com'"):
        Asker(LLMSettings()).check()
    with pytest.raises(InputError, match=r"decompose\.llm: .*OPENAI_API_KEY is not set"):
        Asker(LLMSettings(send_to="api.openai.com")).check()
    with pytest.raises(InputError, match=r"decompose\.llm: .*none\.jsonl cannot be read"):
        Asker(LLMSettings(provider="recorded"), recorded=tmp_path / "none.jsonl").check()


def test_many_threads_share_one_client_and_it_can_be_made_again(tmp_path):
    with serving(OpenAIServer()) as server, Asker(LLMSettings(base_url=server.url), cache=tmp_path / "c") as asker:
        asker.check()
        with ThreadPoolExecutor(8) as pool:
            asked = [ChatRequest("m", (ChatMessage("user", str(n % 4)),)) for n in range(16)]
            replies = list(pool.map(asker.complete, asked))
        assert [reply.text for reply in replies] == [f"reply to {n % 4}" for n in range(16)]
        assert len(server.requests) == 4
        asker.close()
        assert asker.complete(asked[0]).text == "reply to 0"
        assert len(server.requests) == 4
