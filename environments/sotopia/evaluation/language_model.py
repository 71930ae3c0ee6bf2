"""A language model as judge: SOTOPIA-EVAL, one question an episode or one a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.episodes import Person, ReadEpisode
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, CharacterScores, DimensionScore, off_range
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.safe_text import whole_text
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.prompt_style import StyledModel, style_and_model
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json, short_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, InvalidReply, NoUsableReplyError, ask_until_usable
from apportion.llm_client.settings import LLMSettings

TOKENS_A_PERSON = 7 * 80
"""About what seven scores, each with a few sentences, take as JSON."""
LONGEST_REASONING = 4_000
_MOST_TOLD = 3


def reply_schema(labels: Sequence[str]) -> dict[str, Any]:
    """The form of a reply about the persons of these labels, as a JSON schema."""
    dimensions = {dimension: object_schema(_dimension(dimension)) for dimension in DIMENSIONS}
    return object_schema({label: object_schema(dimensions) for label in labels})


def _dimension(name: str) -> dict[str, Any]:
    low, high = RANGES[name]
    # Every number there is: servers that hold a model to a schema know this, and not all know bounds.
    return {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [*range(int(low), int(high) + 1)]}}


@dataclass
class Answer:
    """What could be used of a reply: by label and dimension; ``mistakes`` says what is wrong with the rest."""

    given: dict[str, dict[str, DimensionScore]] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)

    @property
    def mistake(self) -> str:
        """The first mistakes, and how many more there are."""
        more = len(self.mistakes) - _MOST_TOLD
        return "; ".join(self.mistakes[:_MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")


def read_answer(reply: ChatReply, labels: Sequence[str]) -> Answer:
    """Everything that a reply says of the persons of these labels, whole or not.

    Raises ReplyMistakeError: it is cut off, declined, or no JSON object.
    """
    document = reply_json(reply, "give shorter reasoning")
    if not isinstance(document, dict):
        raise ReplyMistakeError(f"the reply is not an object with {', '.join(labels)}")
    answer = Answer()
    for label in labels:
        answer.given[label] = _person(document.get(label), label, answer.mistakes)
    answer.mistakes += [f"{short_json(label)} was not asked about" for label in document if label not in labels]
    return answer


def read_whole(reply: ChatReply, labels: Sequence[str]) -> Answer:
    """`read_answer` of a reply without a mistake. Raises ReplyMistakeError: there is one; the text says which."""
    answer = read_answer(reply, labels)
    if answer.mistakes:
        raise ReplyMistakeError(answer.mistake)
    return answer


def _person(scores: Any, label: str, mistakes: list[str]) -> dict[str, DimensionScore]:
    if not isinstance(scores, dict):
        mistakes.append(f"{label} has no scores; give all of {', '.join(DIMENSIONS)}")
        return dict.fromkeys(DIMENSIONS, DimensionScore(None, cause=f"the reply has no scores of {label}"))
    mistakes += [f"{label}: there is no dimension {short_json(name)}" for name in scores if name not in DIMENSIONS]
    given = {}
    for dimension in DIMENSIONS:
        given[dimension] = _given(scores.get(dimension), dimension)
        if given[dimension].cause is not None:
            mistakes.append(f"{label}, {given[dimension].cause}")
    return given


def _given(value: Any, dimension: str) -> DimensionScore:
    if not isinstance(value, dict) or not {"reasoning", "score"} <= value.keys():
        return DimensionScore(None, cause=f'{dimension} is not an object with "reasoning" and "score"')
    reasoning, score = value["reasoning"], value["score"]
    if not isinstance(reasoning, str) or not reasoning.strip():
        return DimensionScore(None, cause=f"{dimension} has no reasoning")
    words = whole_text(reasoning.strip()[:LONGEST_REASONING])
    problem = off_range(dimension, score)
    if problem is not None:
        return DimensionScore(None, words, f"{dimension} has the score {short_json(score)}; {problem}")
    return DimensionScore(int(score), words)


Calls = Literal["episode", "agent"]
PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.social_judge_prompts",
    setting="judges",
    header=("title",),
    blanks=frozenset({"episode", "judged"}),
    needed=("episode", "judged"),
    form="A prompt is a header (title), then [system] and [user]; see docs/guides/worlds.md",
)
TEMPERATURE = 0.0
"""Section 4 of SOTOPIA: to ensure the stability of the evaluation."""
ATTEMPTS = 3
"""Times a model is asked about the same persons, its mistake shown to it, before what it has not scored is given up."""
RULES = "rules"


@dataclass(frozen=True)
class ModelJudge:
    """A model and its prompt.

    ``called``: The ratings' annotator: ``paper@MODEL``, with ``paper-each@MODEL`` for one question a person. ``style``:
    A prompt by name, or the path of one's own. ``settings``: The model; its temperature is `TEMPERATURE`. ``calls``:
    ``episode`` asks about all persons at once, ``agent`` about each alone.
    """

    called: str
    style: str
    settings: LLMSettings
    calls: Calls = "episode"

    @classmethod
    def of(cls, name: str, chosen: ModelSpec, calls: Calls = "episode", called: Called = str) -> ModelJudge:
        """The judge that a name means: ``STYLE`` or ``STYLE@MODEL``.

        Raises InputError: There is no such prompt, or it cannot be used; no model was chosen; or a setting cannot be
        used.
        """
        if style_and_model(name)[0] == RULES:
            raise InputError(
                "judge 'rules' is no model, and scores an episode when it is played: its ratings are in the corpus "
                f"already. Judges by a model: {', '.join(PROMPTS.names())}"
            )
        model = StyledModel.of("judge", name, chosen, called, TEMPERATURE)
        replace(PROMPTS, setting=called("judges")).messages(model.style, {"episode": "", "judged": ""})
        annotator = model.called if calls == "episode" else f"{model.stem}-each@{model.settings.model}"
        return cls(annotator, model.style, model.settings, calls)

    def questions(self, episode: ReadEpisode) -> list[Question]:
        """What is asked about an episode."""
        if self.calls == "episode":
            return [Question(self, episode, episode.people)]
        return [Question(self, episode, (person,)) for person in episode.people]


@dataclass(frozen=True)
class Question:
    """One question of a judge: an episode, and the persons that it asks about."""

    judge: ModelJudge
    episode: ReadEpisode
    people: tuple[Person, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """What the persons are called in it."""
        return tuple(person.label for person in self.people)

    def request(self) -> ChatRequest:
        """The question as it is sent; what anybody wrote or said stands in it as data."""
        blanks = {"episode": self.episode.as_data(), "judged": ", ".join(self.labels)}
        return ChatRequest(
            **self.judge.settings.asking,
            messages=PROMPTS.messages(self.judge.style, blanks),
            schema=reply_schema(self.labels),
            subject=f"session {self.episode.session_id}, judge {self.judge.called}, {', '.join(self.labels)}",
        )

    def ask(self, complete: Complete) -> list[CharacterScores]:
        """A verdict on each person; what the model gave no usable score for has none, with why.

        Raises InputError: No request can succeed until a person changes something. Raises StoppedError: The budget is
        used up.
        """
        try:
            answer = ask_until_usable(
                complete, self.request(), lambda reply: read_whole(reply, self.labels), ATTEMPTS
            ).given
        except NoUsableReplyError as error:
            answer = _usable(error.replies, self.labels)
        except UnitError as error:
            answer = {label: _nothing(str(error)) for label in self.labels}
        return [
            CharacterScores(self.episode.session_id, self.judge.called, person.name, answer[person.label])
            for person in self.people
        ]


def _usable(replies: Sequence[InvalidReply], labels: Sequence[str]) -> dict[str, dict[str, DimensionScore]]:
    """Of replies that all have a mistake, by label and dimension the last score that can be used."""
    found = {label: _nothing(replies[-1].mistake) for label in labels}
    for bad in replies:
        for label, scores in _answer(bad, labels).given.items():
            for dimension, given in scores.items():
                if given.score is not None or found[label][dimension].score is None:
                    found[label][dimension] = given
    return found


def _answer(bad: InvalidReply, labels: Sequence[str]) -> Answer:
    try:
        return read_answer(ChatReply(bad.reply, bad.model, finish_reason=bad.finish_reason), labels)
    except ReplyMistakeError as mistake:
        return Answer({label: _nothing(str(mistake)) for label in labels})


def _nothing(cause: str) -> dict[str, DimensionScore]:
    return dict.fromkeys(DIMENSIONS, DimensionScore(None, cause=cause))
