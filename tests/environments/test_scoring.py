"""Who scores an episode."""

from apportion.environments.role_assignment import BY_RULES, EpisodeScore
from tests.environments.games import Countdown, take


def test_the_rules_score_what_stands() -> None:
    game = Countdown(("ann", "bob"))
    assert BY_RULES.verdict(game) == EpisodeScore(game.outcome()) and BY_RULES.called == "rules"
    while not game.over:
        game.do(take(3))
    assert {scores["points"] for scores in BY_RULES.verdict(game).scores.values()} == {0.0, 1.0}
