import os
from pathlib import Path

import pytest

from apportion.corpus.importers.reading.sources import numbered, source_files, stem
from apportion.foundation.errors import InputError


def test_the_files_of_a_folder_in_order(tmp_path):
    for name in ("b.jsonl.gz", "a.JSONL", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "c.jsonl").symlink_to(tmp_path / "notes.txt")
    assert [path.name for path in source_files(tmp_path, (".jsonl",))] == ["a.JSONL", "b.jsonl.gz", "c.jsonl"]
    assert source_files(tmp_path / "notes.txt", (".jsonl",)) == [tmp_path / "notes.txt"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "a folder, where a file is read"),
        (os.mkfifo, "a pipe or a device, where a file is read"),
        (lambda path: path.symlink_to("nowhere"), "a link that leads nowhere, where a file is read"),
    ],
)
def test_what_is_called_like_a_file_and_is_none_is_not_passed_over(tmp_path, make, words):
    (tmp_path / "a.jsonl").touch()
    make(tmp_path / "b.jsonl")
    with pytest.raises(InputError, match=rf"b\.jsonl: {words}\. Move it elsewhere"):
        source_files(tmp_path, (".jsonl",))


def test_a_pipe_no_file_and_no_such_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a pipe or a device, and only files are read"):
        source_files(tmp_path / "pipe", (".txt",))
    with pytest.raises(InputError, match="no such file or folder"):
        source_files(tmp_path / "nowhere", (".txt",))
    with pytest.raises(InputError, match=r"no file in this folder ends in \.txt"):
        source_files(tmp_path, (".txt",))


def test_ids():
    assert stem(Path("x/SGD v2.txt.gz")) == "sgd-v2" and numbered("sgd", 1) == "sgd-0001"
