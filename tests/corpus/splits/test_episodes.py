from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.splits.episodes import SplitEpisodes
from tests.decompose.sessions import of_length, splits

NAMES = ("train", "validation", "test", "policy")


@given(st.lists(st.sampled_from([*NAMES, None]), max_size=12))
def test_every_episode_is_in_the_split_of_its_session_alone_and_in_their_order(chosen: list[str | None]) -> None:
    """One whose session is in no split is in none."""
    every = [of_length(f"s{i}", 3.0, 1) for i in range(len(chosen))]
    table = splits(**{e.session_id: name for e, name in zip(every, chosen, strict=True) if name is not None})
    episodes = SplitEpisodes(every, table)
    for name in NAMES:
        assert episodes.of(name) == [e for e, own in zip(every, chosen, strict=True) if own == name]
        assert episodes.sessions(name) == {e.session_id for e in episodes.of(name)}


def test_a_session_without_a_rating_is_in_its_split_with_no_episode() -> None:
    episodes = SplitEpisodes([of_length("a", 3.0, 1)], splits(a="train", unrated="train"))
    assert episodes.sessions("train") == {"a", "unrated"} and len(episodes.of("train")) == 1
