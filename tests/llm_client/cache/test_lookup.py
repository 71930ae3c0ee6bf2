import json

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.recorded import kept_replies
from apportion.llm_client.errors import SetupError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings

REQUEST = ChatRequest("m", (ChatMessage("user", "hello"),))
LIVE, RECORDED = LLMSettings(), LLMSettings(provider="recorded")


def test_a_reply_of_the_cache_is_found_and_no_file_is_made(tmp_path):
    path = tmp_path / "cache.sqlite"
    with kept_replies(LIVE, path, None) as kept:
        assert kept(REQUEST) is None
    assert not path.exists()
    cache = ReplyCache(path)
    cache.put(REQUEST.key(), ChatReply("hi", "m"))
    cache.close()
    with kept_replies(LIVE, path, None) as kept:
        assert kept(REQUEST).text == "hi"


def test_a_recorded_reply_is_found(tmp_path):
    path = tmp_path / "replies.jsonl"
    entry = {"key": REQUEST.key(), "reply": "hi", "model": "m", "date": "2026-11-21"}
    path.write_text(
        json.dumps({"model": "m", "date": "2026-11-21", "how": "by hand"}) + "\n" + json.dumps(entry) + "\n"
    )
    with kept_replies(RECORDED, tmp_path / "none", path) as kept:
        assert kept(REQUEST).text == "hi"
    with kept_replies(RECORDED, tmp_path / "none", None) as kept:
        assert kept(REQUEST) is None
    with pytest.raises(SetupError, match="cannot be read"), kept_replies(RECORDED, tmp_path / "none", tmp_path / "no"):
        pass
