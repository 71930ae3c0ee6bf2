"""Games in which each seat knows something that no other may learn."""

from collections.abc import Iterator

from apportion.environments.collect_episodes import play
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.observation import values_in_words
from apportion.environments.negotiation.scripts import ConcedingAgent


def secret_negotiation() -> Iterator[tuple[Negotiation, dict[str, str], dict[str, list[str]]]]:
    """A negotiation at each of its steps, by agent its own secret, and by agent those of the others."""
    context = Context((2, 2, 1), ((2, 1, 4), (1, 4, 0)))
    own = dict(zip(("Alice", "Bob"), map(values_in_words, context.values), strict=True))
    others = {name: [secret for other, secret in own.items() if other != name] for name in own}
    for seed in range(4):
        game = Negotiation(context)
        game.reset(seed)
        begun = game.clone()
        play(game, {name: ConcedingAgent() for name in game.agents})
        for moves in game.steps[:-1]:
            yield begun.clone(), own, others
            begun.step(dict(moves))
