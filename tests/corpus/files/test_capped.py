"""What a small file can hold: refused before it takes memory."""

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.files import tablefile
from apportion.corpus.files.picture_size import ATTACHED, DECODER_OPTIONS, check_pictures
from apportion.corpus.files.tablefile import read_parquet
from apportion.foundation.errors import InputError, UnitError


def parquet(path, texts, **options):
    pq.write_table(pa.table({"text": texts, "list": pa.array([[text] for text in texts.to_pylist()])}), path, **options)


def same(word, many):
    return pa.array([word] * many)


@pytest.mark.parametrize(
    ("limits", "texts", "words"),
    [
        ({"FREE_ROWS": 1000}, same("a", 4000), r"4,000 rows in [\d,]+ bytes\. No conversations lie so close"),
        # As the file says: one word that packs well.
        ({"FREE_BYTES": 1 << 16}, same("a" * (1 << 20), 1), r"more than [\d,]+ bytes unpacked from"),
        # As is found: a word of a dictionary, many times.
        ({"FREE_BYTES": 1 << 16}, same("a" * 1000, 2000), r"more than [\d,]+ bytes unpacked from"),
    ],
)
def test_parquet_that_unpacks_to_too_much(tmp_path, monkeypatch, limits, texts, words):
    for name, value in limits.items():
        monkeypatch.setattr(tablefile, name, value)
    parquet(tmp_path / "a.parquet", texts, compression="zstd")
    with pytest.raises(InputError, match=words):
        read_parquet(tmp_path / "a.parquet", list, "Again.")


def test_parquet_of_many_batches_is_whole(tmp_path):
    texts = pa.array([f"text {number}" for number in range(1300)])
    parquet(tmp_path / "a.parquet", texts, row_group_size=700)
    table = read_parquet(tmp_path / "a.parquet", lambda names: names[::-1][:1], "Again.")
    assert table.column_names == ["list"]
    assert table["list"].to_pylist() == [[text] for text in texts.to_pylist()]


@pytest.mark.parametrize(("width", "words"), [(60_000, "60000 x 60000 pixels"), (0, "a size that cannot be read")])
def test_pictures_that_no_memory_holds(width, words):
    film = SimpleNamespace(codec_context=SimpleNamespace(width=1920, height=1080, options={}), disposition=0)
    cover = SimpleNamespace(codec_context=SimpleNamespace(width=0, height=0), disposition=ATTACHED)
    container = SimpleNamespace(streams=SimpleNamespace(video=[cover, SimpleNamespace(codec_context=None), film]))
    check_pictures(container, "a")
    assert film.codec_context.options == DECODER_OPTIONS
    film.codec_context.width = film.codec_context.height = width
    with pytest.raises(UnitError, match=f"a: pictures of {words}; at most .* Make the film smaller"):
        check_pictures(container, "a")
