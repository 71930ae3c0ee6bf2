import pytest

from apportion.commands.shared.session_choice import SessionsGiven
from apportion.foundation.errors import InputError


def chosen(text):
    return SessionsGiven().convert(str(text), None, None)


def test_a_file_that_holds_none_or_cannot_be_read_is_named(tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n \n")
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"empty\.txt: names no session"):
        chosen(empty)
    with pytest.raises(InputError, match=r"binary\.txt: not UTF-8 at line 1.* one id a line"):
        chosen(binary)


def test_a_number_is_a_count_where_one_is_asked_for_and_an_id_elsewhere():
    assert (chosen("12").of_audit().count, chosen("12").of_audit().ids) == (12, None)
    assert chosen("12").ids == ("12",) and chosen("12,").of_audit().ids == ("12",)
    with pytest.raises(InputError, match="at least 1 session"):
        chosen("0").of_audit()
