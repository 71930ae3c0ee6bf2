from __future__ import annotations

import pytest

from llm_client.errors import SetupError
from llm_client.kept.cache import KeptReply, ReplyCache
from llm_client.kept.lookup import kept_replies
from llm_client.kept.recorded import Recorder, RecordingHeader
from llm_client.request import ChatReply, ChatRequest
from llm_client.settings import LLMSettings

ASKED, OTHER = ChatRequest("m", ()), ChatRequest("m", (), sample=1)
LIVE = LLMSettings(model="m")
RECORDED = LLMSettings(model="m", provider="recorded")


def test_a_reply_in_the_cache_is_found_and_no_cache_is_made(tmp_path):
    path = tmp_path / "replies.sqlite"
    with kept_replies(LIVE, path, None) as kept:
        assert kept(ASKED) is None
    assert not path.exists()
    cache = ReplyCache(path)
    cache.put_all([KeptReply(ASKED.key(), ChatReply("yes", "m"))])
    cache.close()
    with kept_replies(LIVE, path, None) as kept:
        found = kept(ASKED)
        assert found is not None and found.text == "yes" and kept(OTHER) is None


def test_recorded_replies_are_found_in_their_file_alone(tmp_path):
    recorder = Recorder(tmp_path / "r.jsonl", RecordingHeader("m", "2026-11-21", "by hand"))
    recorder.add(ASKED, ChatReply("yes", "m"))
    recorder.close()
    with kept_replies(RECORDED, tmp_path / "none.sqlite", tmp_path / "r.jsonl") as kept:
        found = kept(ASKED)
        assert found is not None and found.text == "yes" and kept(OTHER) is None
    with kept_replies(RECORDED, tmp_path / "none.sqlite", None) as kept:
        assert kept(ASKED) is None
    with (
        pytest.raises(SetupError, match="cannot be read"),
        kept_replies(RECORDED, tmp_path / "none.sqlite", tmp_path / "gone"),
    ):
        pass
