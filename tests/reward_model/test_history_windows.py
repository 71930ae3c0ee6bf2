from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import BACKGROUND_KINDS, Background, Episode, Rating, Turn
from apportion.reward_model.history_windows import (
    MARKS,
    fair_shares,
    history_text,
    history_windows,
    known_head,
    known_lines,
    last_window,
    reply_text,
    said_by,
    said_in,
    split_known,
    window,
)
from apportion.reward_model.network.dialogue import DialogueTokenizer
from apportion.reward_model.network.tokens import PairTokenizer
from tests.reward_model.tiny import SPECIALS, WORDS, episode, tokenizer

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


NAMES = [*SPECIALS, *WORDS]
KNOWN = (
    Background(None, "scenario", "hotel\ntrain"),
    Background("ann", "goal", "w1"),
    Background("bob", "goal", "w2 w3"),
)
TURNS = tuple(Turn(i, who, f"w{i}") for i, who in enumerate(("ann", "bob", "ann", "bob")))


def informed(backgrounds=KNOWN):
    return Episode("s", TURNS, Rating("ann", "bob", "deal", 1.0, 0.0, 1.0), backgrounds)


def test_a_window_has_all_that_the_target_knew_before_its_turns() -> None:
    assert window(informed(), 3, 1) == ("scenario: hotel train\nown goal: w2 w3\nA: w2\n", "w3")
    assert window(informed(), 3, 0) == ("scenario: hotel train\nown goal: w2 w3\n", "w3")
    assert history_windows([informed()], 3).pairs[1][0].endswith("A: w0\nB: w1\nA: w2\n")
    assert window(informed(()), 3, 1) == ("A: w2\n", "w3")


def test_a_window_is_read_back_as_it_was_said() -> None:
    said = said_by(informed())
    assert said[:2] == [("scenario", "hotel\ntrain"), ("own goal", "w2 w3")] and len(said) == 6
    back = said_in(window(informed(), 3, 9))
    assert back[1:] == said[1:] and back[0] == ("scenario", "hotel train")
    assert last_window(said, None) == last_window(said, 9) == window(informed(), 3, 9)
    assert last_window(said, 2)[0] == "scenario: hotel train\nown goal: w2 w3\nB: w1\nA: w2\n"


lines = st.lists(st.tuples(st.sampled_from(MARKS), st.text(max_size=9)), max_size=4)
turns = st.lists(st.tuples(st.sampled_from(["A", "B", "C", "AA"]), st.text(max_size=9)), max_size=4)


@given(lines, turns)
def test_what_was_known_is_told_from_what_is_said_whatever_that_is(known, said):
    history = history_text([*known, *said])
    assert split_known(history) == ([history_text([line]) for line in known], history_text(said))
    assert known_head([*known, *said]) == len(known)


def test_no_mark_is_a_letter_and_each_kind_has_two() -> None:
    assert len(set(MARKS)) == 2 * len(BACKGROUND_KINDS) and all(mark.islower() for mark in MARKS)
    assert [mark for mark, _ in known_lines(informed())] == ["scenario", "own goal"]


@given(st.lists(st.integers(0, 50), max_size=6), st.integers(0, 100))
def test_shares_fill_the_room_and_take_nothing_from_those_that_need_less(lengths, room):
    shares = fair_shares(lengths, room)
    assert sum(shares) == min(sum(lengths), room) or sum(shares) > room - len(lengths)
    assert sum(shares) <= room and all(share <= length for share, length in zip(shares, lengths, strict=True))
    cut = [share for share, length in zip(shares, lengths, strict=True) if share < length]
    assert not cut or max(shares) <= min(cut) + len(lengths)


def text(ids: tuple[int, ...]) -> str:
    return " ".join(NAMES[i] for i in ids)


def test_the_oldest_turns_go_before_what_was_known() -> None:
    history = "own goal: w1\nA: w5 w6 w7 w8 w9\n"
    pairs = PairTokenizer(tokenizer(), 12)
    (encoded,) = pairs.encode([(history, "yes")])
    whole = text(encoded.window.ids)
    # Eight tokens of room: what was known has at most half of it, the newest of what was said the rest.
    assert whole.endswith("w6 w7 w8 w9 </s> yes </s>") and "w5" not in whole
    assert "<unk> : w1" in whole and len(encoded.window.ids) == 12
    assert encoded.window.segments == (0,) * (len(encoded.window.ids) - 2) + (1, 1)


def test_many_long_backgrounds_are_cut_alike_and_at_once() -> None:
    known = [(mark, "w1 w2 " * 200) for mark in MARKS]
    history = history_text([*known, ("A", "w3 " * 300), ("A", "w4")])
    (encoded,) = PairTokenizer(tokenizer(), 128).encode([(history, "yes")])
    whole = text(encoded.window.ids)
    assert whole.endswith("w4 </s> yes </s>")
    assert 116 <= len(encoded.window.ids) <= 128 and 40 < whole.count("w3") < 75 and 10 <= whole.count("w1") < 40


@given(st.text(alphabet="abw1 .:\n", max_size=30), st.text(alphabet="abw1 ", max_size=9))
def test_without_anything_known_tokens_are_those_of_before(history, reply):
    pairs = PairTokenizer(tokenizer(), 16)
    (encoded,) = pairs.encode([(history, reply)])
    backend = tokenizer().backend_tokenizer
    first, second = (backend.encode(part, add_special_tokens=False) for part in (history, reply))
    room = 16 - backend.num_special_tokens_to_add(True)
    second.truncate(room)
    first.truncate(room - len(second), direction="left")
    assert encoded.window.ids == tuple(backend.post_process(first, second, add_special_tokens=True).ids)


def test_every_block_of_a_long_dialogue_begins_with_what_was_known() -> None:
    said = [("own goal", "w1"), *((who, "w5 w6 w7") for who in ("A", "B") * 5)]
    dialogues = DialogueTokenizer(tokenizer(special=False), 24)
    encoded = dialogues.encode(said)
    begin = encoded.blocks[0].ids[: 1 + len(dialogues.encode([*said[:1], ("B", "yes")]).blocks[0].ids) - 4]
    assert len(encoded.blocks) > 1 and encoded.scored == 5 and encoded.shortened
    assert all(block.ids[: len(begin)] == begin and len(block.ids) <= 24 for block in encoded.blocks)
    assert all(text(block.ids[:end]).endswith("w7") for block in encoded.blocks for _, end in block.spans)
