"""Contexts and games as hypothesis draws them."""

from hypothesis import strategies as st

from apportion.environments.negotiation.contexts import Context, contexts_of, pools
from apportion.environments.negotiation.rules import Game

CONTEXTS: st.SearchStrategy[Context] = st.sampled_from(pools()).flatmap(lambda pool: st.sampled_from(contexts_of(pool)))


@st.composite
def games(draw: st.DrawFn, most_acts: int = 20) -> Game:
    """A game of legal acts, over or not, its selections open."""
    game = Game(draw(CONTEXTS), draw(st.integers(0, 1)), most_acts)
    for _ in range(draw(st.integers(0, most_acts))):
        if game.over:
            break
        game.do(draw(st.sampled_from(game.legal())))
    return game
