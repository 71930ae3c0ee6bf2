"""The dialogue contexts that several policies answer alike: those that every one of them has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apportion.corpus.session import Episode
from apportion.rlhf.compare.responses import context_text
from apportion.rlhf.policy.contexts import (
    ContextSet,
    DialogueContext,
    choose_contexts,
    known_messages,
    make_contexts,
    opening_window,
    speaker_messages,
)
from apportion.rlhf.policy_settings import Window

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class SharedContexts:
    """The same C contexts as each policy reads them (``by_policy``, by its name), in one order.

    ``first`` says what came of the target turns under the first policy's window, ``no_room`` how many contexts were
    left out because another policy has no room for them, ``of_all`` how many there were to choose from.
    """

    by_policy: Mapping[str, tuple[DialogueContext, ...]]
    first: ContextSet
    no_room: int
    of_all: int

    @property
    def shown(self) -> tuple[DialogueContext, ...]:
        """The contexts as the first policy reads them; ``history`` is the text that people are shown."""
        return next(iter(self.by_policy.values()))

    @property
    def sessions(self) -> int:
        """How many sessions the contexts are from."""
        return len({context.session_id for context in self.shown})


def share_contexts(
    episodes: Sequence[Episode],
    tokenizers: Mapping[str, PreTrainedTokenizerBase],
    window: Window,
    count: int,
) -> SharedContexts:
    """Up to ``count`` contexts, spread evenly over all those that every policy has room for.

    Parameters
    ----------
    episodes : sequence of Episode
        Two ratings of one speaker in a session count once.
    tokenizers : mapping of str to PreTrainedTokenizerBase
        By the policy's name, in order.
    window : Window
        How many turns and tokens a policy reads.
    count : int
        Most contexts.
    """
    once = list({(episode.session_id, episode.rating.target): episode for episode in episodes}.values())

    def history(episode: Episode, position: int) -> str:
        before = opening_window(episode.turns[:position], episode.rating.target, window.context_turns)
        return context_text((*known_messages(episode), *speaker_messages(before, episode)))

    sets = {
        name: make_contexts(
            once,
            tokenizer,
            history,
            context_turns=window.context_turns,
            max_context_tokens=window.max_context_tokens,
        )
        for name, tokenizer in tokenizers.items()
    }
    by_place = [{(c.session_id, c.turn): c for c in contexts.contexts} for contexts in sets.values()]
    first = next(iter(sets.values()))
    places = [place for place in by_place[0] if all(place in other for other in by_place)]
    spread = choose_contexts([by_place[0][place] for place in places], count)
    kept = [(context.session_id, context.turn) for context in spread]
    by_policy = {name: tuple(at[place] for place in kept) for name, at in zip(sets, by_place, strict=True)}
    return SharedContexts(by_policy, first, len(first.contexts) - len(places), len(places))
