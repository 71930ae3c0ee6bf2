"""How languages are written."""

import pytest

from apportion.corpus.languages.names import codes, in_words, is_foreign, read_language, said_language, understands
from apportion.foundation.errors import UnitError


@pytest.mark.parametrize(
    ("written", "column", "named", "foreign"),
    [
        ("en", "en", "English", False),
        ("en-GB", "en-GB", "English", False),
        ("ENG", "ENG", "English", False),
        ("english", "en", "English", False),
        ("German", "de", "German", True),
        ("zh_Hans_CN", "zh_Hans_CN", "Chinese", True),
        ("cmn", "cmn", "Chinese", True),
        ("en+es", "en+es", "English and Spanish", True),
        ("gsw", "gsw", "gsw", True),
        ("", None, "no known language", False),
        (None, None, "no known language", False),
    ],
)
def test_what_is_written_is_read(written, column, named, foreign):
    assert read_language(written) == column
    assert (in_words(column), is_foreign(column)) == (named, foreign)


@pytest.mark.parametrize("written", ["not a language", "e", 7, "de+", ["de"], "12"])
def test_what_is_no_language_is_refused(written):
    with pytest.raises(UnitError, match=r"no language\. Give a code such as en, de or pt-BR"):
        read_language(written)


def test_who_understands_what():
    assert understands(None, "de") and understands({"en"}, None) and understands({"en"}, "en-US")
    assert not understands({"en"}, "de+en") and understands({"en", "de"}, "de+en")
    assert codes("nb") == {"no"} and said_language({"lang": "de"}) == "de" and said_language({"language": ""}) is None
