import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.errors import RequestError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished, strict_json
from apportion.llm_client.request import REASONING, ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.session import LLMSession, NoUsableReplyError, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.openai_server import OpenAIServer, serving


def test_what_is_missing_is_told_before_any_work(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match=r"llm: .*allow_host = 'api\.openai\.com'"):
        LLMSession(LLMSettings()).check()
    with pytest.raises(InputError, match=r"llm: .*OPENAI_API_KEY is not set"):
        LLMSession(LLMSettings(allow_host="api.openai.com")).check()
    with pytest.raises(InputError, match=r"llm: .*none\.jsonl cannot be read"):
        LLMSession(LLMSettings(provider="recorded"), recorded=tmp_path / "none.jsonl").check()


def test_many_threads_share_one_client_and_it_can_be_made_again(tmp_path):
    with serving(OpenAIServer()) as server, LLMSession(LLMSettings(base_url=server.url), cache=tmp_path / "c") as asker:
        asker.check()
        with ThreadPoolExecutor(8) as pool:
            asked = [ChatRequest("m", (ChatMessage("user", str(n % 4)),)) for n in range(16)]
            replies = list(pool.map(asker.complete, asked))
        assert [reply.text for reply in replies] == [f"reply to {n % 4}" for n in range(16)]
        assert len(server.requests) == 4
        asker.close()
        assert asker.complete(asked[0]).text == "reply to 0"
        assert len(server.requests) == 4


def test_another_model_of_the_server_is_asked_at_its_own_price(tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('as_of = "2026-01-01"\n' + "".join(
        f"[models.{name}]\ninput = {usd}\noutput = 0\nmax_output_tokens = 10\n" for name, usd in (("a", 1), ("b", 3))
    ))  # fmt: skip
    with serving(OpenAIServer()) as server:
        llm = LLMSettings(model="a", base_url=server.url)
        with LLMSession(llm, cache=tmp_path / "c", prices=prices, budget_usd=1) as asker:
            asker.check(models=("a", "b"))
            for model in "ab":
                asker.complete(ChatRequest(model, (ChatMessage("user", "?"),)))
            for looks_only in (True, False):
                with pytest.raises(InputError, match="no price is known for 'other'"):
                    asker.check(models=("a", "other"), looks_only=looks_only)
        assert [body["model"] for body in server.requests] == ["a", "b"]
    with closing(ReplyCache(tmp_path / "c")) as cache:
        assert cache.usage().usd == pytest.approx(11 * (1 + 3) / 1e6)


QUESTION = ChatRequest("m", (ChatMessage("user", "a number?"),), subject="session s1")


def number(reply):
    value = strict_json(reply.text)
    if not isinstance(value, int):
        raise ReplyMistakeError("no whole number")
    return value


class Replies:
    """Answers with each text in turn, and keeps what it was asked."""

    def __init__(self, *texts):
        self.left, self.asked = list(texts), []

    def __call__(self, request):
        self.asked.append(request)
        text = self.left.pop(0)
        if isinstance(text, Exception):
            raise text
        return ChatReply(text, "served")


def test_a_model_is_shown_its_last_answer_alone_and_what_is_wrong_with_it():
    replies = Replies("seven", " ", "7")
    assert ask_until_usable(replies, QUESTION, number, 3, "Once more.") == 7
    _, second, third = ([message.content for message in request.messages] for request in replies.asked)
    assert second[:2] == ["a number?", "seven"]
    assert second[2].startswith("That reply cannot be used: the reply is not one JSON object: ")
    assert second[2].endswith(". Once more.")
    assert third[:2] == ["a number?", "(empty)"]
    replies = Replies("<think>7? No.</think> seven", "<think>7", "7")
    assert ask_until_usable(replies, QUESTION, number, 3) == 7
    _, second, third = (request.messages for request in replies.asked)
    assert (second[1].content, third[1].content) == ("seven", "(empty)")


def test_after_the_last_attempt_every_bad_reply_is_kept():
    with pytest.raises(
        NoUsableReplyError, match=r"session s1: no usable reply of served in 2 attempts.*no whole"
    ) as caught:
        ask_until_usable(Replies('"a"', "1.5"), QUESTION, number, 2)
    assert isinstance(caught.value, UnitError)
    assert [reply.reply for reply in caught.value.replies] == ['"a"', "1.5"]
    kept = json.loads(caught.value.evidence)
    assert [entry["mistake"] for entry in kept] == ["no whole number"] * 2
    assert kept[0]["request"] == QUESTION.key() != kept[1]["request"]


def test_an_attempt_in_an_earlier_one_s_words_is_asked_anew_and_no_other_request_has_another_key():
    replies = Replies("seven", "seven", "seven", "7")
    assert ask_until_usable(replies, QUESTION, number, 4) == 7
    assert [request.attempt for request in replies.asked] == [0, 0, 3, 4]
    assert len({request.key() for request in replies.asked}) == 4
    assert replies.asked[2].messages == replies.asked[1].messages
    replies = Replies("seven", "eight", "seven", "7")
    assert ask_until_usable(replies, QUESTION, number, 4) == 7
    assert [request.attempt for request in replies.asked] == [0, 0, 0, 4]
    assert "attempt" not in QUESTION.document()


def test_what_the_server_gave_instead_of_a_reply_stands_after_the_bad_replies():
    failed = RequestError("no chat completion", '[{"status": 200, "body": "<html>"}]')
    with pytest.raises(RequestError) as caught:
        ask_until_usable(Replies("no", failed), QUESTION, number, 3)
    bad, came = json.loads(caught.value.evidence)
    assert (bad["reply"], came["body"]) == ("no", "<html>")
    with pytest.raises(RequestError) as caught:
        ask_until_usable(Replies("no", RequestError("refused")), QUESTION, number, 3)
    assert json.loads(caught.value.evidence)[0]["reply"] == "no"


def test_a_long_bad_reply_is_neither_paid_again_nor_kept_whole():
    long = "a" * 20_000 + "b" * 1_000_000
    replies = Replies(long, "7")
    assert ask_until_usable(replies, QUESTION, number, 3) == 7
    shown = replies.asked[1].messages[1].content
    assert len(shown) < 33_000
    assert shown == "a" * 16_384 + "… (987,232 characters left out) …" + "b" * 16_384
    with pytest.raises(NoUsableReplyError) as caught:
        ask_until_usable(Replies(long), QUESTION, number, 1)
    assert json.loads(caught.value.evidence)[0]["reply"] == long[: 64 * 1024]


@pytest.mark.parametrize(("text", "words"), [
    ("", "before the answer began; reason less. The model's reasoning took all tokens: raise max_tokens"),
    ("<think>7", "before the answer began; reason less. The model's reasoning took all tokens: raise max_tokens"),
    ("sev", "at the limit of tokens; be short. Raise max_tokens"),
])  # fmt: skip
def test_a_reply_that_the_limit_of_tokens_cut_off_says_what_to_change(text, words):
    def read(reply):
        check_finished(reply, "be short")
        return number(reply)

    with pytest.raises(NoUsableReplyError, match=words):
        ask_until_usable(lambda request: ChatReply(text, "served", finish_reason="length"), QUESTION, read, 2)


def test_an_answer_that_the_server_took_for_reasoning_says_what_to_change():
    def read(reply):
        check_finished(reply, "be short")
        return number(reply)

    words = "JSON stands in reasoning_content alone.* start it without its reasoning parser"
    with pytest.raises(NoUsableReplyError, match=words):
        ask_until_usable(lambda request: ChatReply("", "served", finish_reason=REASONING), QUESTION, read, 2)


def test_a_mistake_of_ours_is_not_taken_for_the_model_s():
    with pytest.raises(ZeroDivisionError):
        ask_until_usable(Replies("1"), QUESTION, lambda reply: 1 / 0, 3)
