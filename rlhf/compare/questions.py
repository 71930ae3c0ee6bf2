"""What several policies are asked alike: dialogue contexts that every one of them has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus.session import Episode
from rlhf.compare.responses import context_text
from rlhf.policy.contexts import (
    ContextSet,
    DialogueContext,
    choose_contexts,
    make_contexts,
    merge_turns,
    opening_window,
)
from rlhf.settings import AlignSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Questions:
    """The same Q contexts as each policy reads them (``of``, by the policy's name), in one order.

    ``found`` says what came of the target turns under the first policy's window, ``no_room`` how many contexts were
    left out because another policy has no room for them, ``of_all`` how many there were to choose from.
    """

    of: Mapping[str, tuple[DialogueContext, ...]]
    found: ContextSet
    no_room: int
    of_all: int

    @property
    def shared(self) -> tuple[DialogueContext, ...]:
        """The contexts as the first policy reads them; ``history`` is the text that people are shown."""
        return next(iter(self.of.values()))

    @property
    def sessions(self) -> int:
        """How many sessions the contexts are from."""
        return len({context.session_id for context in self.shared})


def make_questions(
    episodes: Sequence[Episode],
    tokenizers: Mapping[str, PreTrainedTokenizerBase],
    settings: AlignSettings,
    count: int,
) -> Questions:
    """Up to ``count`` contexts, spread evenly over all those that every policy has room for.

    Parameters
    ----------
    episodes : sequence of Episode
        Two ratings of one speaker in a session count once.
    tokenizers : mapping of str to PreTrainedTokenizerBase
        By the policy's name, in order.
    settings : AlignSettings
        The window, in turns and tokens, and whose turns are answered.
    count : int
        Most contexts.
    """
    once = list({(episode.session_id, episode.rating.target): episode for episode in episodes}.values())

    def shown(episode: Episode, position: int) -> str:
        before = opening_window(episode.turns[:position], episode.rating.target, settings.context_turns)
        return context_text(merge_turns(before, episode.rating.target))

    sets = {
        name: make_contexts(
            once,
            tokenizer,
            shown,
            context_turns=settings.context_turns,
            max_context_tokens=settings.max_context_tokens,
        )
        for name, tokenizer in tokenizers.items()
    }
    by_place = [{(c.session_id, c.turn): c for c in found.contexts} for found in sets.values()]
    first = next(iter(sets.values()))
    places = [place for place in by_place[0] if all(place in other for other in by_place)]
    chosen = choose_contexts([by_place[0][place] for place in places], count)
    kept = [(context.session_id, context.turn) for context in chosen]
    of = {name: tuple(own[place] for place in kept) for name, own in zip(sets, by_place, strict=True)}
    return Questions(of, first, len(first.contexts) - len(places), len(places))
