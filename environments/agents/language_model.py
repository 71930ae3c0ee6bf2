"""A language model as an agent: reads the observation as text, answers with one act as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from apportion.environments.actions import UNUSABLE
from apportion.environments.agents.agent import UNPREPARED, UNREVISED
from apportion.environments.agents.private_notes import LONGEST_NOTE, TOKENS_A_NOTE, Note, notes_of
from apportion.environments.environment import Action, Observation
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json, short_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, NoUsableReplyError, ask_until_usable
from apportion.llm_client.settings import LLMSettings


def action_prompts(folder: Path, entry_points: str) -> PromptKind:
    """The prompts that ask a model for an act: those in ``folder``, and of packages."""
    return PromptKind(
        folder=folder,
        entry_points=entry_points,
        setting="agent",
        header=("title", "revises", "notes"),
        blanks=frozenset({"situation", "legal", "draft", "note", "notes"}),
        needed=("situation", "legal"),
        form="A prompt is a header (title, revises, notes), then [system] and [user]; see docs/guides/worlds.md",
    )


PROMPTS = action_prompts(Path(__file__).parent / "prompts", "apportion.agent_prompts")
STYLES = ("base", "react", "refine", "perspectives", "recon", "metamind")
"""Our own prompts: `base` acts at once (SOTOPIA, section 4), `react` writes a thought that nobody hears before.

`refine` is asked twice: for a draft, in the words of `base`, then for a criticism of it and the final act in one
reply. Self-Refine (Madaan et al., 2023) asks for these two by themselves, several times over; SOTOPIA has no such one.

`recon` (ReCon; Wang et al., 2024) drafts by `perspectives`, which reads the other's mind first, and asks how the draft
would be taken.

`metamind` (Zhang et al., 2025) has MetaMind's three stages, a request each: hypotheses of the other's mind, the norms
that they are held to, and an act that is checked first. Our choices: the second stage chooses the hypothesis in words,
where theirs weighs likelihood against information gain; the third checks once and draws no second reply; there is no
social memory, since an agent keeps nothing between episodes.
"""
TEMPERATURE = 1.0
"""Section 4 of SOTOPIA: to encourage diversity of the agents' responses."""
ATTEMPTS = 3
"""Times a model is asked for one act, its mistake shown to it, before another stands in its place."""
TOKENS_AN_ACT = 60
"""About what an act takes as JSON."""


@dataclass(frozen=True)
class ActionFormat:
    """How one environment's acts are asked for and written by a language model: ``act``, ``text``, and what else.

    ``prompts``: The prompts, with the blanks ``situation`` and ``legal``, ``draft`` where one revises, ``note`` and
    ``notes`` where one writes notes. ``styles``: Names of our own among them. ``fields``: By name, what an act has
    besides its kind and its words, as JSON schemas; of a view. ``data``: The act's data from these fields; raises
    `ReplyMistakeError`. None where there are none. ``record``: The fields of an act, for a draft that is shown.
    ``standing``: An act with marks as data: by key (`UNREVISED`, `UNPREPARED`) the mistake.
    """

    prompts: PromptKind
    styles: tuple[str, ...]
    fields: Callable[[Observation], Mapping[str, Any]] = lambda view: {}
    data: Callable[[str, Mapping[str, Any], Observation], Any] = lambda kind, fields, view: None
    record: Callable[[Action, Observation], Mapping[str, Any]] = lambda act, view: {}
    standing: Callable[[Action, Mapping[str, str]], Action] = lambda act, marks: act._replace(data=dict(marks))


WORDS = ActionFormat(PROMPTS, STYLES)
"""Acts that are a kind and words."""


@dataclass(frozen=True)
class LanguageModelAgent:
    """Asks a model for its private notes, then for each act, or for its draft and then its revision.

    Every reply is kept before it is used; notes are in the model's requests alone.

    ``called``: What it is called in logs and corpora. ``style``: A prompt by name, or the path of one's own.
    ``settings``: The model; its temperature is used as it is. ``complete``: Asks it
    (`apportion.llm_client.session.LLMSession.complete`). ``form``: How acts are asked for. ``chooses``: Makes
    the choice of a note that is one, in the model's place.
    """

    called: str
    style: str
    settings: LLMSettings
    complete: Complete
    paid: bool = True
    form: ActionFormat = WORDS
    chooses: Callable[[Observation, tuple[str, ...]], str] | None = None

    def act(self, view: Observation) -> Action:
        """What the model does; after `ATTEMPTS` bad replies what stands for it, with the mistake as data.

        Without a note that cannot be used it acts, a draft whose revision cannot be used stands; both with the mistake
        as data.

        Raises InputError: No request can succeed until a person changes something. Raises StoppedError: The budget is
        used up. Raises UnitError: The server failed; or no reply could be used where nothing can stand for it.
        """
        act: Action | None = None
        notes: dict[str, str] = {}
        marks: dict[str, str] = {}
        for question in self.questions(view):
            note = question.note
            if note is not None and note.choices and self.chooses is not None:
                notes[note.name] = self.chooses(view, note.choices)
                continue
            request = self.asks(view, question, notes, act)
            try:
                if note is not None:
                    notes[note.name] = ask_until_usable(self.complete, request, note.read, ATTEMPTS)
                else:
                    act = ask_until_usable(self.complete, request, lambda one: read_act(one, view, self.form), ATTEMPTS)
            except NoUsableReplyError as error:
                mistake = error.replies[-1].mistake
                if note is None and act is None:
                    instead = view.stand_in(UNUSABLE, mistake)
                    if instead is None:
                        raise
                    return instead
                marks |= {UNREVISED: mistake} if note is None else {UNPREPARED: f"{note.name}: {mistake}"}
        assert act is not None  # The last question is for an act.
        told = self.form.standing(act, marks) if marks else act
        return act if view.problem(told) else told  # Rules may read data that has no place for a mark.

    def questions(self, view: Observation) -> list[Question]:
        """What is asked for the next act, in turn. Raises InputError: a prompt cannot be used."""
        return [one for one in self.asked if one.note is None or one.note.asked_for(view)]

    @property
    def asked(self) -> list[Question]:
        """What can be asked for one act; raises as `questions`."""
        return asks_of(self.style, self.form.prompts)

    def request(self, view: Observation) -> ChatRequest:
        """What is asked first for the next act; raises as `questions`."""
        return self.asks(view, self.questions(view)[0])

    @property
    def requests_an_act(self) -> int:
        """How often it is asked for one act at most, where every reply can be used."""
        return len(self.asked)

    @property
    def tokens_an_act(self) -> int:
        """About what one reply takes."""
        return sum(TOKENS_AN_ACT if one.note is None else TOKENS_A_NOTE for one in self.asked) // len(self.asked)

    def asks(
        self, view: Observation, question: Question, notes: Mapping[str, str] | None = None, draft: Action | None = None
    ) -> ChatRequest:
        """One question for the next act, with the notes so far, by name, and the draft; raises as `questions`."""
        style, note = question
        blanks = {"situation": view.text, "legal": ", ".join(view.legal), "draft": ""}
        if draft is not None:
            shown = {"act": draft.kind, **self.form.record(draft, view), "text": draft.text}
            blanks["draft"] = data_json(shown)
        blanks |= {"note": "" if note is None else note.name, "notes": data_json(notes or {})}
        messages = self.form.prompts.messages(style, blanks)
        thinks = "thought" in messages[0].content
        return ChatRequest(
            **self.settings.asking,
            messages=messages,
            schema=_schema(view.legal, thinks, self.form.fields(view)) if note is None else note.schema,
            # Two episodes of one task begin with the same words; each has a reply of its own.
            sample=view.number,
            subject=f"{self.called} as {view.agent!r}, step {view.step}",
        )


class Question(NamedTuple):
    """One request for an act: the prompt, and which note it asks for (None: the act, or its draft)."""

    style: str
    note: Note | None


def asks_of(style: str, prompts: PromptKind = PROMPTS) -> list[Question]:
    """What a style can ask for one act, in turn: its notes, then the act; before them the same of what it revises.

    Raises InputError: as `revised` and `notes_of`.
    """
    styles = [one for one in (revised(style, prompts), style) if one is not None]
    return [Question(one, note) for one in styles for note in (*notes_of(one, prompts), None)]


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
    document = reply_json(reply, "say less")
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
    thought = {"thought": {"type": "string", "maxLength": LONGEST_NOTE}} if thinks else {}
    properties = {**thought, "act": {"type": "string", "enum": list(legal)}, **fields, "text": {"type": "string"}}
    return object_schema(properties)
