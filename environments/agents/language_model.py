"""A language model as an agent: reads the observation as text, answers with one act as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.agents.agent import UNUSABLE
from environments.core import Act, View
from llm_client.asker import Complete, NoUsableReplyError, ask_until_usable
from llm_client.prompts.prompt_file import PromptKind
from llm_client.prompts.strict_json import ReplyMistakeError, check_finished, short_json, strict_json
from llm_client.request import ChatReply, ChatRequest
from llm_client.settings import LLMSettings

PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.agent_prompts",
    setting="agent",
    header=("title",),
    blanks=frozenset({"situation", "legal"}),
    needed=("situation", "legal"),
    form="A prompt is a header (title), then [system] and [user]; see docs/environments.md",
)
STYLES = ("base", "react")
"""Our own prompts: `base` acts at once (SOTOPIA, section 4), `react` writes a thought that nobody hears before."""
TEMPERATURE = 1.0
"""Section 4 of SOTOPIA: to encourage diversity of the agents' responses."""
ATTEMPTS = 3
"""Times a model is asked for one act, its mistake shown to it, before the silent act stands in its place."""
SILENT = "none"
TOKENS_AN_ACT = 60
"""About what an act takes as JSON."""
_LONGEST_THOUGHT = 2_000


@dataclass(frozen=True)
class LanguageModelAgent:
    """Asks a model for each act; at most one request a try, and every reply is kept before it is used.

    Parameters
    ----------
    called : str
        What it is called in logs and corpora.
    style : str
        A prompt by name, or the path of one's own.
    settings : LLMSettings
        The model; its temperature is used as it is.
    complete : callable
        Asks it (`llm_client.asker.Asker.complete`).
    """

    called: str
    style: str
    settings: LLMSettings
    complete: Complete
    paid: bool = True

    def act(self, view: View) -> Act:
        """What the model does; after `ATTEMPTS` replies that cannot be used the silent act, with the mistake as data.

        Raises
        ------
        InputError
            No request can succeed until a person changes something.
        StoppedError
            The budget is used up.
        UnitError
            The server failed; or no reply could be used where nobody may be silent.
        """
        try:
            return ask_until_usable(self.complete, self.request(view), lambda reply: read_act(reply, view), ATTEMPTS)
        except NoUsableReplyError as error:
            if SILENT not in view.legal:
                raise
            return Act(SILENT, "", {UNUSABLE: error.replies[-1].mistake})

    def request(self, view: View) -> ChatRequest:
        """What is asked for the next act.

        Raises
        ------
        InputError
            The prompt cannot be used.
        """
        messages = PROMPTS.messages(self.style, {"situation": view.text, "legal": ", ".join(view.legal)})
        return ChatRequest(
            **self.settings.asking,
            messages=messages,
            schema=_schema(view.legal, "thought" in messages[0].content),
            # Two episodes of one task begin with the same words; each has a reply of its own.
            sample=view.number,
            subject=f"{self.called} as {view.agent!r}, step {view.step}",
        )


def read_act(reply: ChatReply, view: View) -> Act:
    """The act of a reply; a thought is dropped.

    Raises
    ------
    ReplyMistakeError
        The reply cannot be used; the text says why.
    """
    check_finished(reply, "say less")
    document = strict_json(reply.text)
    if not isinstance(document, dict) or not {"act", "text"} <= document.keys() <= {"thought", "act", "text"}:
        raise ReplyMistakeError('the reply is not an object with "act" and "text"')
    kind, text = document["act"], document["text"]
    if not isinstance(kind, str) or kind not in view.legal:
        raise ReplyMistakeError(f'"act" is {short_json(kind)}; allowed are {", ".join(view.legal)}')
    if text is not None and not isinstance(text, str):
        raise ReplyMistakeError(f'"text" is {short_json(text)}; give a text')
    act = Act(kind, (text or "").strip())
    problem = view.problem(act)
    if problem is not None:
        raise ReplyMistakeError(problem)
    return act


def _schema(legal: tuple[str, ...], thinks: bool) -> dict[str, Any]:
    thought = {"thought": {"type": "string", "maxLength": _LONGEST_THOUGHT}} if thinks else {}
    properties = {**thought, "act": {"type": "string", "enum": list(legal)}, "text": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
