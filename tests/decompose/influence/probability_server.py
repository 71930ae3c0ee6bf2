"""A loopback server that gives the probabilities of a prompt as vLLM does, computed by a small model of the tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from tests.decompose.influence.measurers import small_model, tokenizer
from tests.llm_client.openai_server import Body, Fault, OpenAIServer, completion


@dataclass
class ProbabilityServer(OpenAIServer):
    """``gives`` false is a server that passes over what it does not know, as many do."""

    gives: bool = True
    longest: int = 2048

    def __post_init__(self) -> None:
        model()  # Before several threads would make it at once.
        self.answer = self.chat
        self.refuse = self.too_long

    def chat(self, body: Body) -> Body:
        reply = completion("x", "length")
        if not self.gives or "prompt_logprobs" not in body:
            return reply
        ids, logs = probabilities(rendered(body))
        entries: list[Any] = [None]
        entries += [
            {str(i): {"logprob": log, "rank": 1, "decoded_token": "x"}} for i, log in zip(ids[1:], logs, strict=True)
        ]
        return {**reply, "prompt_logprobs": entries, "usage": {"prompt_tokens": len(ids), "completion_tokens": 1}}

    def too_long(self, body: Body) -> Fault | None:
        if "messages" in body and len(tokenizer()(rendered(body))["input_ids"]) > self.longest:
            return Fault(400, f"maximum context length is {self.longest} tokens", "context_length_exceeded")
        return None

    def other(self, method: str, path: str, query: dict[str, str], raw: bytes, headers: dict[str, str]) -> Fault | Body:
        if path != "/v1/completions":
            return Fault(404, f"no such path {path}")
        body = json.loads(raw)
        self.requests.append(body)
        if not self.gives:
            return Fault(400, "Only no echo is supported")
        ids, logs = probabilities(body["prompt"])  # Its tokenizer puts nothing before a text.
        told = {"tokens": [f"t{i}" for i in ids] + ["x"], "token_logprobs": [None, *logs, -1.0]}
        choice = {"index": 0, "text": body["prompt"] + "x", "logprobs": told, "finish_reason": "length"}
        usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
        return {"object": "text_completion", "model": "served-model", "choices": [choice], "usage": usage}


def rendered(body: Body) -> str:
    how = {name: body[name] for name in ("add_generation_prompt", "continue_final_message")}
    text: str = tokenizer().apply_chat_template(body["messages"], tokenize=False, **how)
    return text


@cache
def model() -> Any:
    return small_model()


def probabilities(text: str) -> tuple[list[int], list[float]]:
    """Token ids [shape=(L,)] and the log-probabilities of all but the first [shape=(L - 1,)]."""
    ids = tokenizer()(text, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        logs = torch.log_softmax(model()(torch.tensor([ids])).logits[0], dim=-1)
    return ids, [float(logs[place, token]) for place, token in enumerate(ids[1:])]
