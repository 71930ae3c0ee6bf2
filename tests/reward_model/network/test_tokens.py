from hypothesis import given
from hypothesis import strategies as st

from apportion.reward_model.network.tokens import PairTokenizer, Tokens, length_batches
from tests.reward_model.tiny import SPECIALS, WORDS, tokenizer

NAMES = [*SPECIALS, *WORDS]


def text(tokens: Tokens) -> str:
    return " ".join(NAMES[i] for i in tokens.ids)


def test_a_pair_is_in_the_models_own_format() -> None:
    (encoded,) = PairTokenizer(tokenizer(), 32).encode([("A: hotel ?\n", "yes good")])
    assert text(encoded.window) == "<s> A : hotel ? </s> yes good </s>"
    assert encoded.window.segments == (0, 0, 0, 0, 0, 0, 1, 1, 1)
    assert text(encoded.reply) == "<s> </s> yes good </s>"


def test_the_tokenizers_own_padding_and_truncation_are_switched_off() -> None:
    given_settings = tokenizer()
    given_settings.backend_tokenizer.enable_padding(length=30)
    given_settings.backend_tokenizer.enable_truncation(3)
    (encoded,) = PairTokenizer(given_settings, 16).encode([("w1", "w1 w2 w3 w4 w5")])
    assert text(encoded.window) == "<s> w1 </s> w1 w2 w3 w4 w5 </s>"


def test_an_empty_window_without_special_tokens_still_has_one_token() -> None:
    (encoded,) = PairTokenizer(tokenizer(special=False), 8).encode([("", "")])
    assert encoded.window == encoded.reply == Tokens((2,), (0,))


def test_padding_is_masked() -> None:
    tokens = PairTokenizer(tokenizer(segments=True), 16)
    inputs = tokens.pad([both.window for both in tokens.encode([("", "yes"), ("w1 w2", "yes")])])
    assert inputs["attention_mask"].tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]
    assert inputs["input_ids"][0, 4:].tolist() == [0, 0]
    assert inputs["token_type_ids"].tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]


def test_segments_are_given_to_models_that_want_them_alone() -> None:
    tokens = PairTokenizer(tokenizer(segments=False), 16)
    assert "token_type_ids" not in tokens.pad([tokens.encode([("", "yes")])[0].window])


words = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


@given(words, words, st.integers(8, 40))
def test_never_longer_than_allowed_and_the_reply_before_the_history(history: str, reply: str, limit: int) -> None:
    (encoded,) = PairTokenizer(tokenizer(), limit).encode([(history, reply)])
    for tokens in (encoded.window, encoded.reply):
        assert len(tokens.ids) <= limit
        kept = [NAMES[i] for i, segment in zip(tokens.ids, tokens.segments, strict=True) if segment == 1][:-1]
        assert kept == reply.split()[: limit - 3]


@given(st.lists(st.integers(1, 20), max_size=50), st.integers(1, 8))
def test_length_batches_hold_everything_once_sorted_by_length(lengths: list[int], size: int) -> None:
    texts = [Tokens((1,) * length, (0,) * length) for length in lengths]
    batches = length_batches(texts, size)
    order = [i for batch in batches for i in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths)
    assert all(len(batch) <= size for batch in batches)
