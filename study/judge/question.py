"""One item as a language model is asked about it, in one order of its responses, and what a reply says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.safe_text import whole_text
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import ANOTHER_MODEL, Complete, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.compare.blind import LETTERS
from apportion.rlhf.compare.responses import speaker_of
from apportion.study.design.answers import TIE, Value, checked
from apportion.study.design.criteria import Criterion, CriterionSet
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item, Response

PROMPTS = PromptKind(
    folder=Path(__file__).resolve().parent / "prompts",
    entry_points="apportion.study_prompts",
    setting="the prompt of a study",
    header=(),
    blanks=frozenset({"form", "instructions", "conversation", "responses", "questions"}),
    needed=("conversation", "responses", "questions"),
    form="A prompt has the sections [system] and [user]; study/judge/prompts/study.txt is one",
)
PROMPT = "study"
ATTEMPTS = 3
"""Times a model is asked, its mistake shown to it, before an item is given up."""
LONGEST_REASON = 500
_TOKENS, _TOKENS_A_CRITERION, _TOKENS_A_NUMBER = 45, 8, 6


@dataclass(frozen=True)
class Question:
    """All criteria about one item, its responses in one order."""

    study: StudyFolder
    item: Item
    shown: tuple[Response, ...]
    order: int = 1

    def request(self, settings: LLMSettings) -> ChatRequest:
        """What is sent."""
        blanks = {
            "form": _form(self),
            "instructions": self.study.instructions.strip(),
            "conversation": _lines([_message(self, place) for place in range(len(self.item.messages))]),
            "responses": _lines([{"letter": to, "text": one.text} for to, one in self.lettered.items() if one.text]),
            "questions": "\n".join(_asked(one) for one in self.study.criteria.criteria),
        }
        return ChatRequest(
            **settings.asking,
            messages=PROMPTS.messages(PROMPT, blanks),
            schema=_schema(self),
            subject=f"item {self.item.item}, order {self.order}",
        )

    @property
    def lettered(self) -> Mapping[str, Response]:
        """The responses by letter, in the order that they are shown in."""
        return dict(zip(LETTERS, self.shown, strict=False))

    @property
    def tokens(self) -> int:
        """About what a reply takes."""
        numbers = len(self.shown) + len(self.item.positions) * self.study.criteria.asks_turns
        return _TOKENS + len(self.study.criteria.criteria) * (_TOKENS_A_CRITERION + _TOKENS_A_NUMBER * numbers)

    def ask(self, settings: LLMSettings, complete: Complete) -> tuple[dict[str, Value], str]:
        """The answers by criterion, and the reason. Raises UnitError: no reply could be used, or the server failed."""
        return ask_until_usable(complete, self.request(settings), self.read, ATTEMPTS, remedy=ANOTHER_MODEL)

    def read(self, reply: ChatReply) -> tuple[dict[str, Value], str]:
        """What a reply says, under the responses' ids. Raises ReplyMistakeError: it cannot be used, and why."""
        document = reply_json(reply, "give a shorter reason")
        if not isinstance(document, dict) or not isinstance(document.get("answers"), dict):
            raise ReplyMistakeError('the reply is not an object with an object "answers"')
        given = {name: self._unlettered(value) for name, value in document["answers"].items()}
        try:
            answers, _ = checked(_all_required(self.study.criteria), self.item, given)
        except InputError as error:
            raise ReplyMistakeError(self._under_letters(str(error))) from None
        reason = document.get("reason")
        return answers, whole_text(reason[:LONGEST_REASON]) if isinstance(reason, str) else ""

    def _unlettered(self, value: Any) -> Any:
        """Ids in the place of letters; what is no letter stays, to be told as that."""
        if isinstance(value, list):
            return [self._unlettered(one) for one in value]
        if isinstance(value, dict):
            return {self._unlettered(place): number for place, number in value.items()}
        response = self.lettered.get(value) if isinstance(value, str) else None
        return value if response is None else response.id

    def _under_letters(self, told: str) -> str:
        for letter, response in self.lettered.items():
            told = told.replace(response.id, letter)
        return told.replace("\n", "; ")


def _all_required(criteria: CriterionSet) -> CriterionSet:
    """The same, all of it asked for, and no reason: a model's is as short as its prompt says."""
    required = tuple(one.model_copy(update={"required": True}) for one in criteria.criteria)
    return criteria.model_copy(update={"criteria": required, "reason": None})


def _message(question: Question, place: int) -> dict[str, Any]:
    message = question.item.messages[place]
    rated = question.study.criteria.asks_turns and place in question.item.positions
    return {**({"turn": place} if rated else {}), "speaker": speaker_of(message), "text": message.text}


def _lines(rows: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(data_json(row) for row in rows) + "\n]" if rows else ""


def _asked(criterion: Criterion) -> str:
    how = {
        "select": "the letters of all responses that this says something true of; none, some or all",
        "pair": f"the letter of one response, or {TIE!r} where neither is better",
        "rating": "a whole number for each response",
        "turns": 'a whole number for each message that has a "turn"',
    }[criterion.kind]
    if criterion.about == "dialogue" and criterion.kind == "rating":
        how = 'a whole number on "assistant" in all of the conversation'
    scale = f", {criterion.low} to {criterion.high}" if criterion.kind in ("rating", "turns") else ""
    ends = "; ".join(f"{value}: {words}" for value, words in sorted(criterion.anchors.items()))
    return f"- {criterion.name}: {criterion.question} ({how}{scale}{f' ({ends})' if ends else ''})"


def _form(question: Question) -> str:
    letters = list(question.lettered)
    turns = [str(place) for place in question.item.positions]
    forms = {
        "select": "[<letters>]",
        "pair": " or ".join(data_json(one) for one in (*letters, TIE)),
        "rating": "{" + ", ".join(f'"{letter}": <number>' for letter in letters) + "}",
        "turns": "{" + ", ".join(f'"{turn}": <number>' for turn in turns) + "}",
    }
    criteria = question.study.criteria.criteria
    return "{" + ", ".join(f'"{criterion.name}": {forms[criterion.kind]}' for criterion in criteria) + "}"


def _schema(question: Question) -> dict[str, Any]:
    """The reply's JSON schema: every key is required and none else is allowed, as strict servers want it."""
    answers = {one.name: _answer_schema(one, question) for one in question.study.criteria.criteria}
    return object_schema({"reason": {"type": "string"}, "answers": object_schema(answers)})


def _answer_schema(criterion: Criterion, question: Question) -> dict[str, Any]:
    letters = list(question.lettered)
    number = {"type": "integer", "minimum": criterion.low, "maximum": criterion.high}
    match criterion.kind:
        case "select":
            return {"type": "array", "items": {"type": "string", "enum": letters}}
        case "pair":
            return {"type": "string", "enum": [*letters, TIE]}
        case "rating":
            return object_schema(dict.fromkeys(letters, number))
        case _:
            return object_schema({str(place): number for place in question.item.positions})
