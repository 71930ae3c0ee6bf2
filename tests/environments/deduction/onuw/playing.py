"""Games for tests: begun from a deal and a night, and talked through."""

from collections.abc import Mapping, Sequence

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.onuw.rules import CENTRE, CHOOSING, PLAYERS, Choice, Options
from apportion.environments.environment import Action

ONE_ROUND = Options(rounds=1)


def act_of(role: str, choice: Choice) -> Action:
    """The act by which somebody chooses at night."""
    if choice == CENTRE:
        return Action("centre")
    aim = [place + 1 for place in choice]
    kind = {"seer": "look", "robber": "rob", "troublemaker": "swap"}[role]
    return Action(kind, "", aim if len(aim) > 1 else aim[0] if aim else 0)


def at_dawn(deal: Sequence[str], chosen: Mapping[str, Choice], rules: Options = ONE_ROUND, seed: int = 0) -> OneNight:
    """A game after its night."""
    game = OneNight(rules, tuple(deal))
    game.reset(seed)
    step_night(game, chosen)
    return game


def step_night(game: OneNight, chosen: Mapping[str, Choice]) -> None:
    """The night; who is not in ``chosen`` does nothing."""
    playing = [seat for seat in range(PLAYERS) if game.deal[seat] in CHOOSING]
    roles = {game.agents[seat]: game.deal[seat] for seat in playing}
    game.step({name: act_of(role, chosen.get(role, ())) for name, role in roles.items()})


def talk(game: OneNight, words: str = "Hello.") -> None:
    """Everybody says the same until the vote."""
    while SPEAK in game.legal(game.acting()[0]):
        game.do(Action(SPEAK, words))


def vote(game: OneNight, votes: Sequence[int]) -> None:
    """The vote, by seats from 1; 0 abstains."""
    game.step({name: Action(VOTE, "", aim) for name, aim in zip(game.agents, votes, strict=True)})


def played(agents: Sequence[Agent], seed: int | str, rules: Options | None = None) -> OneNight:
    """A game that agents play to its end; few agents sit several times."""
    game = OneNight(rules)
    game.reset(seed)
    play(game, {name: agents[seat % len(agents)] for seat, name in enumerate(game.agents)})
    return game
