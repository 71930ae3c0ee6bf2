"""A language model as an agent: reads the observation as text, answers with one act as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.environments.actions import UNUSABLE
from apportion.environments.agents.agent import UNREVISED
from apportion.environments.environment import Action, Observation
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished, short_json, strict_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, NoUsableReplyError, ask_until_usable
from apportion.llm_client.settings import LLMSettings

PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.agent_prompts",
    setting="agent",
    header=("title", "revises"),
    blanks=frozenset({"situation", "legal", "draft"}),
    needed=("situation", "legal"),
    form="A prompt is a header (title, revises), then [system] and [user]; see docs/guides/worlds.md",
)
STYLES = ("base", "react", "refine")
"""Our own prompts: `base` acts at once (SOTOPIA, section 4), `react` writes a thought that nobody hears before.

`refine` is asked twice: for a draft, in the words of `base`, then for a criticism of it and the final act in one
reply. Self-Refine (Madaan et al., 2023) asks for these two by themselves, several times over; SOTOPIA has no such one.
"""
TEMPERATURE = 1.0
"""Section 4 of SOTOPIA: to encourage diversity of the agents' responses."""
ATTEMPTS = 3
"""Times a model is asked for one act, its mistake shown to it, before another stands in its place."""
TOKENS_AN_ACT = 60
"""About what an act takes as JSON."""
_LONGEST_THOUGHT = 2_000


@dataclass(frozen=True)
class ActionFormat:
    """How one environment's acts are asked for and written by a language model: ``act``, ``text``, and what else.

    ``prompts``: The prompts, with the blanks ``situation`` and ``legal``, and ``draft`` where one revises. ``styles``:
    Names of our own among them. ``fields``: By name, what an act has besides its kind and its words, as JSON schemas;
    of a view. ``data``: The act's data from these fields; raises `ReplyMistakeError`. None where there are none.
    ``record``: The fields of an act, for a draft that is shown. ``standing``: A draft that stands, with the mistake of
    its revision as data.
    """

    prompts: PromptKind
    styles: tuple[str, ...]
    fields: Callable[[Observation], Mapping[str, Any]] = lambda view: {}
    data: Callable[[str, Mapping[str, Any], Observation], Any] = lambda kind, fields, view: None
    record: Callable[[Action, Observation], Mapping[str, Any]] = lambda act, view: {}
    standing: Callable[[Action, str], Action] = lambda act, mistake: act._replace(data={UNREVISED: mistake})


WORDS = ActionFormat(PROMPTS, STYLES)
"""Acts that are a kind and words."""


@dataclass(frozen=True)
class LanguageModelAgent:
    """Asks a model for each act, or for its draft and then its revision; every reply is kept before it is used.

    ``called``: What it is called in logs and corpora. ``style``: A prompt by name, or the path of one's own.
    ``settings``: The model; its temperature is used as it is. ``complete``: Asks it
    (`apportion.llm_client.session.LLMSession.complete`). ``form``: How acts are asked for.
    """

    called: str
    style: str
    settings: LLMSettings
    complete: Complete
    paid: bool = True
    form: ActionFormat = WORDS

    def act(self, view: Observation) -> Action:
        """What the model does; after `ATTEMPTS` bad replies what stands for it, with the mistake as data.

        A draft whose revision cannot be used stands, with the mistake as data.

        Raises InputError: No request can succeed until a person changes something. Raises StoppedError: The budget is
        used up. Raises UnitError: The server failed; or no reply could be used where nothing can stand for it.
        """
        try:
            act = self._asked(self.request(view), view)
        except NoUsableReplyError as error:
            instead = view.stand_in(UNUSABLE, error.replies[-1].mistake)
            if instead is None:
                raise
            return instead
        if revised(self.style, self.form.prompts) is None:
            return act
        try:
            return self._asked(self.revision(view, act), view)
        except NoUsableReplyError as error:
            return self.form.standing(act, str(error.replies[-1].mistake))

    def request(self, view: Observation) -> ChatRequest:
        """What is asked first for the next act: for the act, or for its draft in the words of the revised prompt.

        Raises InputError: the prompt cannot be used.
        """
        return self._request(revised(self.style, self.form.prompts) or self.style, view)

    def revision(self, view: Observation, draft: Action) -> ChatRequest:
        """What is asked when there is a draft; raises as `request`."""
        return self._request(
            self.style, view, data_json({"act": draft.kind, **self.form.record(draft, view), "text": draft.text})
        )

    @property
    def requests_an_act(self) -> int:
        """How often it is asked for one act, where every reply can be used."""
        return 1 if revised(self.style, self.form.prompts) is None else 2

    @property
    def tokens_an_act(self) -> int:
        """About what one reply takes."""
        return TOKENS_AN_ACT

    def _asked(self, request: ChatRequest, view: Observation) -> Action:
        return ask_until_usable(self.complete, request, lambda reply: read_act(reply, view, self.form), ATTEMPTS)

    def _request(self, style: str, view: Observation, draft: str = "") -> ChatRequest:
        blanks = {"situation": view.text, "legal": ", ".join(view.legal), "draft": draft}
        messages = self.form.prompts.messages(style, blanks)
        return ChatRequest(
            **self.settings.asking,
            messages=messages,
            schema=_schema(view.legal, "thought" in messages[0].content, self.form.fields(view)),
            # Two episodes of one task begin with the same words; each has a reply of its own.
            sample=view.number,
            subject=f"{self.called} as {view.agent!r}, step {view.step}",
        )


def revised(style: str, prompts: PromptKind = PROMPTS) -> str | None:
    """The prompt by which a style is asked for a draft first (its header's ``revises``); None: it acts at once.

    Raises InputError: there is no such prompt, it cannot be used, or what it revises is itself a revision.
    """
    draft = prompts.header_of(style).get("revises")
    if draft is not None and "revises" in prompts.header_of(draft):
        raise prompts.unusable(
            prompts.find(style), f"revises {draft!r}, which revises a draft itself; name one that acts"
        )
    return draft


def read_act(reply: ChatReply, view: Observation, form: ActionFormat = WORDS) -> Action:
    """The act of a reply; a thought is dropped.

    Raises ReplyMistakeError: the reply cannot be used; the text says why.
    """
    check_finished(reply, "say less")
    document = strict_json(reply.text)
    needed = ("act", *form.fields(view), "text")
    if not isinstance(document, dict) or not {*needed} <= document.keys() <= {"thought", *needed}:
        named = ", ".join(f'"{name}"' for name in needed[:-1])
        raise ReplyMistakeError(f'the reply is not an object with {named} and "text"')
    kind, text = document["act"], document["text"]
    if not isinstance(kind, str) or kind not in view.legal:
        raise ReplyMistakeError(f'"act" is {short_json(kind)}; allowed are {", ".join(view.legal)}')
    if text is not None and not isinstance(text, str):
        raise ReplyMistakeError(f'"text" is {short_json(text)}; give a text')
    act = Action(kind, (text or "").strip(), form.data(kind, document, view))
    problem = view.problem(act)
    if problem is not None:
        raise ReplyMistakeError(problem)
    return act


def _schema(legal: tuple[str, ...], thinks: bool, fields: Mapping[str, Any]) -> dict[str, Any]:
    thought = {"thought": {"type": "string", "maxLength": _LONGEST_THOUGHT}} if thinks else {}
    properties = {**thought, "act": {"type": "string", "enum": list(legal)}, **fields, "text": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
