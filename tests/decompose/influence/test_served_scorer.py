import copy
import json
from dataclasses import replace

import pytest
from tokenizers.processors import TemplateProcessing

from apportion.decompose.influence.chat_text import ChatText
from apportion.decompose.influence.scorer import Prompt
from apportion.decompose.influence.served_scorer import ServedMeasurer, ServerPromptFormat
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.request import ChatMessage, ChatReply
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.prompt_logprobs import told_of
from tests.decompose.influence.measurers import measurer, tokenizer
from tests.decompose.influence.probability_server import ProbabilityServer
from tests.llm_client.openai_server import OpenAIServer, completion, serving

PROMPTS = [
    Prompt(
        (ChatMessage("user", "Who is the wolf?"), ChatMessage("assistant", "Not me."), ChatMessage("user", said)), "<r>"
    )
    for said in ("Player 3 is.", "I trust player 3.")
]
REPLIES = ["Then I vote three.", "I trust three, too.", "No."]


def ask(server, way="chat", text=None, cache=None, prompts=PROMPTS, replies=REPLIES):
    with serving(server):
        llm = LLMSettings(base_url=server.url, model="m", max_retries=0, concurrency=4)
        with LLMSession(llm, cache=cache) as asker:
            return ServedMeasurer(asker.complete, ServerPromptFormat(llm, way, text, "session s1, turn 4")).measure(
                prompts, replies
            )


@pytest.mark.parametrize("way", ["chat", "completions"])
def test_a_server_s_log_probabilities_are_the_model_s_own(way):
    server = ProbabilityServer()
    found = ask(server, way, ChatText("m", tokenizer()) if way == "completions" else None)
    here = measurer().measure(PROMPTS, REPLIES)
    assert found.sums == pytest.approx(here.sums, abs=1e-5)
    assert found.tokens.tolist() == here.tokens.tolist() and found.computed is None
    # A few words first, then each prompt alone and with each reply.
    assert len(server.requests) == 1 + len(PROMPTS) * (1 + len(REPLIES))
    assert all(body["max_tokens"] == 1 and body["temperature"] == 0 for body in server.requests)


def test_without_begun_words_the_prompt_alone_ends_where_the_assistant_would_begin():
    prompts = [replace(prompt, begun="") for prompt in PROMPTS]
    found = ask(ProbabilityServer(), prompts=prompts)
    assert found.sums == pytest.approx(measurer().measure(prompts, REPLIES).sums, abs=1e-5)


def test_a_model_that_knows_no_chat_reads_lines():
    server = ProbabilityServer()
    ask(server, "completions")
    shown = [body["prompt"] for body in server.requests]
    assert "user: Who is the wolf?\nassistant: Not me.\nuser: Player 3 is.\nassistant: <r>Then I vote three." in shown
    assert all(body["echo"] and body["logprobs"] == 1 and "messages" not in body for body in server.requests)


def test_what_the_server_s_tokenizer_puts_before_every_text_is_put_there_once():
    begins = copy.deepcopy(tokenizer())
    begun = TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", begins.bos_token_id)])
    begins.backend_tokenizer.post_processor = begun
    assert ChatText("m", tokenizer()).bare(PROMPTS[0]).startswith("<|begin|><|user|>")
    assert ChatText("m", begins).bare(PROMPTS[0]).startswith("<|user|>")


def test_what_was_told_is_kept_and_paid_once(tmp_path):
    first, second = ProbabilityServer(), ProbabilityServer()
    found = ask(first, cache=tmp_path / "kept.sqlite")
    assert ask(second, cache=tmp_path / "kept.sqlite").sums.tolist() == found.sums.tolist()
    assert first.requests and not second.requests


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("chat", "answered without the probabilities of the prompt's tokens, which the way 'chat' asks for"),
        ("completions", "cannot be asked how probable a reply is: .*Only no echo is supported.* vLLM answers both"),
    ],
)
def test_a_server_that_gives_none_is_told_before_anything_else_is_asked(way, words):
    server = ProbabilityServer(gives=False)
    with pytest.raises(InputError, match=words):
        ask(server, way)
    assert len(server.requests) == 1 and "Tea or milk?" in json.dumps(server.requests)


def test_a_reply_that_the_server_leaves_out_is_told():
    def same(body):
        entries = [None, {"5": {"logprob": -1.0}}, {"6": {"logprob": -1.0}}]
        return {**completion("x"), "prompt_logprobs": entries}

    with pytest.raises(UnitError, match="told 3 tokens of a prompt with its reply and 3 of the prompt alone"):
        ask(OpenAIServer(answer=same))


def test_a_recorded_reply_of_another_kind_is_told():
    wording = ServerPromptFormat(LLMSettings(provider="recorded", model="m"), subject="session s1, turn 4")
    with pytest.raises(UnitError, match="session s1, turn 4: a reply without probabilities: 'well'"):
        ServedMeasurer(lambda request: ChatReply("well", "m"), wording).measure(PROMPTS, REPLIES)
    with pytest.raises(ValueError, match="2 tokens with 1 probabilities"):
        told_of(ChatReply('{"tokens": ["a", "b"], "logs": [-1]}', "m"))
