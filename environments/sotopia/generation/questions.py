"""What is asked: the prompts of C.2 filled in, each with how its reply is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from apportion.environments.sotopia.generation import replies
from apportion.environments.sotopia.generation.inputs import Vignette
from apportion.environments.sotopia.generation.replies import BackgroundReply, RelationshipReply, ScenarioReply
from apportion.environments.sotopia.generation.scenario_rules import BUYER, SELLER, Sale, dollars
from apportion.environments.sotopia.tasks import FIELDS, Character, Scenario, filled_fields
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, ask_until_usable
from apportion.llm_client.settings import LLMSettings

PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.generation_prompts",
    setting="generation",
    header=("title",),
    blanks=frozenset(
        (
            *("count", "taken", "profile", "profiles", "examples", "vignette", "occupations"),
            *("item", "price", "role", "limit", "verb", "bound"),
        )
    ),
    needed=(),
    form="A prompt is a header (title), then [system] and [user]; see docs/guides/worlds.md",
)
ATTEMPTS = 3
"""Times a model is asked, its mistake shown to it, before what it was to make is left out."""
TOKENS_A_CHARACTER, TOKENS_A_SCENARIO, TOKENS_A_TEXT = 130, 200, 70
"""About what each takes as JSON."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Question(Generic[_Answer]):
    """A request, what makes an answer of its reply, and about how many tokens that has."""

    request: ChatRequest
    read: Callable[[ChatReply], _Answer]
    tokens: int

    def ask(self, complete: Complete) -> _Answer:
        """The answer; raises as `apportion.llm_client.session.ask_until_usable`."""
        return ask_until_usable(complete, self.request, self.read, ATTEMPTS)


@dataclass(frozen=True)
class Questions:
    """All questions to one model; another ``seed`` asks for other replies to the same words."""

    settings: LLMSettings
    seed: int = 0

    def characters(self, count: int, taken: Collection[str]) -> Question[tuple[Character, ...]]:
        """A list of characters, none of whom has a name that is taken."""
        blanks = {"count": count, "taken": data_json(sorted(taken)) if taken else ""}
        request = self._request("characters", blanks, replies.CHARACTERS_SCHEMA, f"{count} characters")
        return Question(request, replies.read_characters(count, taken), count * TOKENS_A_CHARACTER)

    def background(self, character: Character) -> Question[BackgroundReply]:
        """A character's secret and public information."""
        blanks = {"profile": data_json(_profile(character))}
        request = self._request("background", blanks, replies.BACKGROUND_SCHEMA, f"what {character.name!r} keeps")
        return Question(request, replies.read_as(BackgroundReply), TOKENS_A_TEXT)

    def relationship(self, pair: Sequence[Character]) -> Question[RelationshipReply]:
        """How two know each other."""
        blanks = {"profiles": "\n".join(data_json(_profile(one)) for one in pair)}
        subject = f"how {' and '.join(repr(one.name) for one in pair)} know each other"
        request = self._request("relationship", blanks, replies.RELATIONSHIP_SCHEMA, subject)
        return Question(request, replies.read_as(RelationshipReply), TOKENS_A_TEXT)

    def scenario(
        self, vignette: Vignette, examples: Sequence[Scenario], occupations: Collection[str]
    ) -> Question[ScenarioReply]:
        """A scenario from a vignette."""
        blanks = {
            "examples": "\n".join(data_json(_example(one)) for one in examples),
            "vignette": data_json(vignette.text),
            "occupations": data_json(sorted(occupations)) if occupations else "",
        }
        request = self._request("scenario", blanks, replies.SCENARIO_SCHEMA, f"a scenario of {vignette.place}")
        return Question(request, replies.read_scenario, TOKENS_A_SCENARIO)

    def sale(self, sale: Sale) -> tuple[Question[str], ...]:
        """The sentences of a sale: its context, and a goal for each side."""
        item, price = sale.item, dollars(sale.item.price)
        told_item = {"item": item.title, "title": item.title, "price": price, "description": item.description}
        subject = f"the sale of {item.place}"
        blanks = {"item": data_json(told_item), "price": price}
        context = self._request("sale_context", blanks, replies.SENTENCE_SCHEMA, subject)
        goals = [self._sale_goal(sale, seat, role, subject) for seat, role in enumerate((SELLER, BUYER))]
        return (Question(context, replies.read_sentence((price,)), TOKENS_A_TEXT), *goals)

    def _sale_goal(self, sale: Sale, seat: int, role: str, subject: str) -> Question[str]:
        target = f"${sale.targets[seat]:.2f}"  # "Round up to two decimals".
        limit = f"${sale.limits[seat]:.2f}" if sale.limits else ""
        verb, bound = ("sell", "less") if role == SELLER else ("buy", "more")
        blanks = {"role": role, "price": target, "limit": limit, "verb": verb, "bound": bound}
        request = self._request("sale_goal", blanks, replies.SENTENCE_SCHEMA, f"{subject}, the {role}'s goal")
        kept = (target, limit) if limit else (target,)
        return Question(request, replies.read_sentence(kept), 2 * TOKENS_A_TEXT)

    def _request(self, prompt: str, blanks: Mapping[str, Any], schema: Mapping[str, Any], subject: str) -> ChatRequest:
        messages = PROMPTS.messages(prompt, dict.fromkeys(PROMPTS.blanks, "") | dict(blanks))
        return ChatRequest(
            **self.settings.asking, messages=messages, schema=schema, sample=self.seed, subject=subject
        )  # fmt: skip


def _profile(character: Character) -> dict[str, object]:
    """Everything that a profile says but the secret, which decides no relationship."""
    return filled_fields(character, FIELDS[:-1])


def _example(scenario: Scenario) -> dict[str, Any]:
    return {
        "context": scenario.context,
        "goals": list(scenario.goals),
        "relationship": scenario.relationship.words,
        "ages": [list(ages) for ages in scenario.ages],
        "occupations": [list(suits) for suits in scenario.occupations],
    }
