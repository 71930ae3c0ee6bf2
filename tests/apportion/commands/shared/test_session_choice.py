import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.commands.shared.session_choice import SessionsGiven
from apportion.foundation.errors import InputError


def chosen(text):
    return SessionsGiven().convert(str(text), None, None)


NAMES = st.text(st.characters(exclude_characters=",\n\r", categories=("L", "N", "P")), min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True))
def test_ids_keep_their_order_and_count_once(names):
    assert chosen(",".join([*names, *names])).ids == tuple(names)


def test_a_file_has_one_id_a_line(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("s1\n\n s 2, with a comma \ns1\n")
    assert chosen(path).ids == ("s1", "s 2, with a comma") and chosen(path).text == str(path)


@pytest.mark.parametrize(("given", "told"), [("", "names no session"), (" , ,", "names no session")])
def test_no_session_is_refused(given, told):
    with pytest.raises(InputError, match=told):
        chosen(given)


def test_a_file_that_holds_none_or_cannot_be_read_is_named(tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n \n")
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"empty\.txt: names no session"):
        chosen(empty)
    with pytest.raises(InputError, match=r"binary\.txt: cannot be read"):
        chosen(binary)


def test_a_number_is_a_count_where_one_is_asked_for_and_an_id_elsewhere():
    assert (chosen("12").of_audit().count, chosen("12").of_audit().ids) == (12, None)
    assert chosen("12").ids == ("12",) and chosen("12,").of_audit().ids == ("12",)
    with pytest.raises(InputError, match="at least 1 session"):
        chosen("0").of_audit()
