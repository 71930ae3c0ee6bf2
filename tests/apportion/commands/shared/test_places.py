from pathlib import Path

import pytest

from apportion.commands.shared.places import beside, check_place, write
from apportion.foundation.errors import InputError


def test_a_place_that_can_be_written_has_its_folder_and_nothing_in_it(tmp_path):
    check_place(tmp_path / "deep" / "a.md", "--out", (".md", ".json"))
    assert list((tmp_path / "deep").iterdir()) == []
    with pytest.raises(InputError, match="No such file or directory"):
        check_place(tmp_path / "none" / "a.md", "--out", make_folder=False)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("name", "suffixes", "problem"),
    [
        ("a.txt", (".md", ".json"), r"--out .*a\.txt: the name must end in \.md or \.json, which says how"),
        ("a.JSON", (".md", ".json"), r"must end in \.md or \.json"),
        ("a.txt", (".a", ".b", ".c"), r"must end in \.a, \.b or \.c"),
        ("a.txt", (".png",), r"must end in \.png, because that is what is written"),
        ("folder", (), "a folder. Name a file in it"),
        ("file", (), r"file exists\. Use --force to replace it, or --out for another name"),
        ("file/a", (), r"cannot be written \(.*\)\. Choose another place with --out"),
    ],
)
def test_what_stands_in_the_way_is_said(tmp_path, name, suffixes, problem):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=problem):
        check_place(tmp_path / name, "--out", suffixes, force=False)


def test_with_force_a_file_may_be_there_and_one_suffix_may_be_in_capitals(tmp_path):
    (tmp_path / "a.PNG").write_text("x")
    check_place(tmp_path / "a.PNG", "--png", (".png",), force=True)
    assert (tmp_path / "a.PNG").read_text() == "x"


def test_a_file_that_cannot_be_written_after_all(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"cannot be written .* Choose another place with --verdicts"):
        write(tmp_path / "file" / "a", "--verdicts", "text")


def test_a_folder_beside_another_however_that_is_named(tmp_path, monkeypatch):
    (tmp_path / "play" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "play" / "deep")
    assert beside(Path("../../play/"), "judged") == Path("../../play-judged")
    assert beside(Path(), "judged") == tmp_path / "play" / "deep-judged"
    assert beside(Path(".."), "judged") == tmp_path / "play-judged"
