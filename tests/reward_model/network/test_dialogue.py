from hypothesis import given
from hypothesis import strategies as st

from apportion.reward_model.network.dialogue import DialogueTokenizer, turn_ranges
from tests.reward_model.tiny import WORDS, tokenizer

SAID = [("A", "hotel ?"), ("B", "yes good"), ("A", "train ?"), ("B", "no bad .")]


def words(ids: tuple[int, ...]) -> str:
    return tokenizer().decode(list(ids))


def test_a_dialogue_that_fits_is_one_block_that_asks_for_the_answer_to_each_of_its_target_turns() -> None:
    encoded = DialogueTokenizer(tokenizer(special=False), 64).encode(SAID)
    (block,) = encoded.blocks
    expected = "<s> A : hotel ? B : yes good A : A : train ? B : no bad . A :"
    assert words(block.ids).split() == expected.split()
    assert [words(block.ids[first:end]).split() for first, end in block.spans] == [
        ["B", ":", "yes", "good"],
        ["B", ":", "no", "bad", "."],
    ]
    assert block.asked == (10, 21) and block.asides == (*[0] * 9, 1, 1, *[0] * 9, 2, 2)
    assert (encoded.scored, encoded.shortened) == (2, False)
    assert block.segments == (0,) * len(block.ids)


def test_only_the_last_turn_is_scored_where_that_is_asked() -> None:
    encoded = DialogueTokenizer(tokenizer(special=False), 64).encode(SAID, only_last=True)
    assert encoded.scored == 1
    assert encoded.blocks[0].asked == (len(encoded.blocks[0].ids) - 1,)


def test_a_turn_longer_than_a_block_loses_its_end_and_an_empty_one_is_still_a_turn() -> None:
    encoded = DialogueTokenizer(tokenizer(special=False), 8).encode([("B", "w1 " * 50), ("B", ""), ("A", "")])
    assert [len(block.ids) for block in encoded.blocks] == [8, 7]
    assert (encoded.scored, encoded.shortened) == (2, True)


def test_a_tokenizer_that_has_no_token_for_a_turn_still_gives_one() -> None:
    bare = tokenizer(special=False)
    bare.backend_tokenizer.normalizer = __import__("tokenizers").normalizers.Replace("B: ", "")
    assert DialogueTokenizer(bare, 8).encode([("B", "")]).blocks[0].ids[:2] == (1, 2)


@given(st.lists(st.integers(1, 20), max_size=60), st.integers(20, 60))
def test_every_turn_is_scored_once_in_a_span_that_fits_and_has_half_of_it_as_history(
    lengths: list[int], room: int
) -> None:
    found = turn_ranges(lengths, room)
    assert [turn for part in found for turn in range(part.scored, part.end)] == list(range(len(lengths)))
    for part in found:
        assert 0 <= part.start <= part.scored < part.end
        assert sum(lengths[part.start : part.end]) <= room
        history, first = sum(lengths[part.start : part.scored]), lengths[part.scored]
        if part.start > 0:
            # One turn more would be above half of the room, or no longer fit beside the turn that is scored.
            more = history + lengths[part.start - 1]
            assert more > room // 2 or more + first > room
    assert (len(found) == 1) == (0 < sum(lengths) <= room) or not lengths


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from(["", *WORDS, "w1 w2 w3 w4 w5"])), max_size=40))
def test_blocks_hold_at_most_the_tokens_that_the_model_reads_at_once(said: list[tuple[str, str]]) -> None:
    encoded = DialogueTokenizer(tokenizer(special=False), 16).encode(said)
    assert all(block.asides.count(0) <= 16 - 2 and block.ids[0] == 1 for block in encoded.blocks)
    assert (
        sum(len(block.asked) for block in encoded.blocks) == encoded.scored == sum(letter == "B" for letter, _ in said)
    )
