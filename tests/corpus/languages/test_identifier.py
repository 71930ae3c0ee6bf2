"""The language of dialogues, by their words: 100 of 20 words a language, and what has no language."""

from unittest.mock import Mock

import pytest
from py3langid.langid import LanguageIdentifier

from apportion.corpus.languages.identifier import _model, spoken_in
from apportion.foundation.errors import InputError
from tests.corpus.languages.chats import dialogue, of_20_words


@pytest.mark.parametrize("language", ["de", "es", "zh", "en"])
def test_of_100_dialogues_of_20_words_at_least_95_are_right(language):
    assert sum(spoken_in(of_20_words(language, number)) == language for number in range(100)) >= 95


@pytest.mark.parametrize("pair", ["de+en", "en+zh", "en+es", "es+de"])
def test_two_languages_are_told_where_each_has_its_turns(pair):
    told = [spoken_in(dialogue(pair, number)) for number in range(20)]
    assert told.count("+".join(sorted(pair.split("+")))) >= 19


@pytest.mark.parametrize("texts", [[], ["ok"], ["", "..."], ["42", "17:30", "👍"], ["hm", "ja"]])
def test_what_is_too_short_has_no_known_language(texts):
    assert spoken_in(texts) is None


def test_half_a_character_and_letters_without_end_are_no_mistake():
    assert spoken_in(["\ud83d Das ist leider schon wieder kaputt gegangen."]) == "de"
    assert spoken_in(["Das ist ein sehr langer Satz. " * 100_000]) == "de"


def test_where_its_model_cannot_be_written_that_is_told(monkeypatch):
    monkeypatch.setattr(LanguageIdentifier, "from_model_file", Mock(side_effect=OSError(28, "No space left on device")))
    _model.cache_clear()
    with pytest.raises(InputError, match=r"cannot be written there \(No space left on device\)"):
        spoken_in(["Hello there."])
