from apportion.evaluation.error_slices.slices import distinctive_words, words_of


def test_common_here_and_rare_elsewhere_names_a_kind():
    said = [words_of(text) for text in ("sorry i cannot find it", "sorry there is none", "i am sorry for it")] * 4
    others = [words_of(text) for text in ("i found it for you", "there is a train", "i am here")] * 9
    assert distinctive_words(said, list(range(12)), others)[0] == "sorry"


def test_what_is_common_everywhere_names_nothing():
    said = [words_of("i see it")] * 10
    assert distinctive_words(said, list(range(10)), said * 5) == ()


def test_a_word_of_two_conversations_may_be_a_name_and_names_nothing():
    said = [words_of("sorry maria")] * 10
    assert distinctive_words(said, [0, 1] * 5, [words_of("hello")] * 10) == ()
    assert "maria" in distinctive_words(said, list(range(10)), [words_of("hello")] * 10)


def test_numbers_are_no_words_and_apostrophes_are_one():
    assert words_of("It’s 20 pounds, isn't it? b2b_x") == {"it's", "pounds", "isn't", "it", "b2b_x"}
