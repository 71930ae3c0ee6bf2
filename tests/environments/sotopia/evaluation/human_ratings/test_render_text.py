"""An episode for a person to read."""

from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.sotopia.evaluation.episodes import ReadEpisode
from apportion.environments.sotopia.evaluation.human_ratings.sheet import PARTLY, as_text, labelled
from tests.environments.sotopia.evaluation.test_episode import session

TEXT = st.text(st.characters(exclude_categories=()), min_size=1)


def test_it_has_everything_and_not_who_played() -> None:
    lines = dict(labelled(ReadEpisode.of(session("Hi"))))
    assert lines["Scenario: "] == "A market" and lines["Ann, goal: "] == "Win" and lines["Bob, goal: "] == "Leave"
    assert lines["#1 Ann: "] == "Hi" and lines["#2 Bob [physical action] "] == "waves" and lines[""] == PARTLY
    assert "#1 Ann leaves" in dict(labelled(ReadEpisode.of(session("[leave] left the conversation"))))


@given(TEXT, TEXT.filter(lambda name: name != "Bob"), TEXT, TEXT)
def test_no_text_moves_the_terminal_or_begins_where_labels_do(words: str, name: str, goal: str, known: str) -> None:
    text = as_text("episode-1", ReadEpisode.of(session(words, name, goal, known)))
    assert all(letter.isprintable() or letter in "\n\u200c\u200d" for letter in text)
    begins = [line for line in text.splitlines() if line.startswith("#")]
    assert len([line for line in begins if line.startswith(("#1 ", "#2 ", "#3 "))]) >= 3
