"""One client to any OpenAI-compatible language model; it knows nothing of dialogue.

From the ground up: `errors`, `request` (a question and its answer), `settings`, `usage` (tokens and
money, summed), `token_bucket` (how much a minute lets through); `prompts` (texts, data and strict JSON between people
and models); `cache` (replies on the disk), `cost` (tokens, prices, the budget), `transport` (a server), `batch` (the
Batch API), `preview` (what would be sent); `client` (all of them together), `session` (lends the client, and asks again
after a bad reply), `model_spec` (a model as a person chooses it for a command), `prompt_style` (it and a prompt, by one
name), `many_requests` (all that a command asks one model).
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.llm_client.prompts.strict_json import ReplyMistakeError, strict_json
    from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
    from apportion.llm_client.session import LLMSession, ask_until_usable
    from apportion.llm_client.settings import LLMSettings

__all__ = [
    "ChatMessage",
    "ChatReply",
    "ChatRequest",
    "LLMSession",
    "LLMSettings",
    "ReplyMistakeError",
    "ask_until_usable",
    "strict_json",
]

__getattr__ = lazy_names(__name__, __file__)
