import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.study.rows import AnswerRow, read_row_file, rows_beside, rows_text

ROW = AnswerRow("a001", "i0001", {"social": ["r1"], "better": "tie", "kind": {"r1": 3}}, "Because.", 12.5, 1, 2, "now")

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@given(
    st.lists(
        st.builds(
            AnswerRow,
            st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True),
            words,
            st.dictionaries(words, st.lists(words)),
            words,
        )
    )
)
def test_rows_come_back_as_they_were(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text(rows_text(rows), encoding="utf-8")
    found = read_row_file(path)
    assert sorted(found, key=lambda row: rows_text([row])) == sorted(rows, key=lambda row: rows_text([row]))
    assert rows_text(found) == rows_text(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotator": "a b"}, "annotator 'a b': 1 to 64 letters"),
        ({"seconds": "soon"}, "seconds: 'soon' is not what an answer has there"),
        ({"seconds": -1}, "seconds and focus_lost cannot be below 0"),
        ({"revision": True}, "revision: True"),
        ({"answers": []}, r"answers: \[\] is not"),
    ],
)
def test_a_line_that_is_no_answer(tmp_path, change, message):
    line = {**json.loads(rows_text([ROW])), **change}
    (tmp_path / "x.jsonl").write_text(f"{rows_text([ROW])}{json.dumps(line)}\n")
    with pytest.raises(InputError, match=rf"x\.jsonl, line 2: {message}"):
        read_row_file(tmp_path / "x.jsonl")


def test_all_files_beside_a_study_and_none_of_them_twice(tmp_path):
    assert rows_beside(tmp_path, "imported") == ()
    (tmp_path / "imported").mkdir()
    (tmp_path / "imported" / "one.jsonl").write_text(rows_text([ROW]))
    assert rows_beside(tmp_path, "imported") == (ROW,)
    (tmp_path / "imported" / "two.jsonl").write_text(rows_text([ROW]))
    with pytest.raises(InputError, match=r"two\.jsonl: annotator a001 answers item i0001, and does so in .*one\.jsonl"):
        rows_beside(tmp_path, "imported")
