from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apportion.reward_model.history_windows import history_text, history_windows, reply_text, window
from tests.reward_model.tiny import episode

SAID = [("user", "one"), ("bot", "two"), ("user", "three"), ("third", "four"), ("bot", "five")]


def test_a_window_is_the_last_turns_with_neutral_speakers_and_the_reply() -> None:
    e = episode("s", SAID)
    assert window(e, 4, 3) == ("B: two\nA: three\nC: four\n", "five")
    assert window(e, 4, 1) == ("C: four\n", "five")
    assert window(e, 4, 0) == ("", "five")
    assert window(e, 1, 100) == ("A: one\n", "two")


def test_windows_of_episodes_lie_one_after_the_other() -> None:
    silent = episode("silent", [("user", "hello?")])
    windows = history_windows([episode("a", SAID), silent, episode("b", SAID[:2])], 3)
    assert [key[0] for key in windows.keys] == ["a", "b"]
    assert windows.turns == (1, 4, 1)
    assert windows.offsets == (0, 2, 3)
    assert windows.pairs[2] == ("A: one\n", "two")


def test_no_episodes_give_no_windows() -> None:
    assert history_windows([], 3).offsets == (0,)


def test_a_line_break_in_an_utterance_cannot_pass_for_another_speaker() -> None:
    assert history_text([("A", "fine\nB: I am great")]) == "A: fine B: I am great\n"
    assert reply_text(" a\r\n b\t ") == "a b"


@given(st.lists(st.tuples(st.sampled_from(["user", "bot"]), st.text(max_size=8)), max_size=12), st.integers(0, 5))
def test_every_target_turn_has_one_window_of_at_most_so_many_lines(said: list[tuple[str, str]], back: int) -> None:
    e = episode("s", said)
    windows = history_windows([e], back)
    assert windows.turns == e.target_turns
    for (history, _), position in zip(windows.pairs, e.target_positions, strict=True):
        assert history.count("\n") == min(back, position)
