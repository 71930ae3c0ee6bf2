from pathlib import Path

import pytest

from apportion.features.precomputed import EMOTION_COLUMNS
from apportion.foundation.errors import InputError
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import Config, load_config, shown_config
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.preflight import check
from tests.behaviour.small import film_one_person, write_small_corpus
from tests.features.emotion_models import small_model


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_small_corpus(tmp_path / "corpus", sessions=4)


@pytest.fixture
def filmed(corpus) -> Path:
    """The corpus with a film of one person."""
    return film_one_person(corpus)


def config(corpus: Path, emotion_model: str = "auto") -> Config:
    values = {"corpus": corpus, "output": corpus.parent / "run", "features": {"emotion_model": emotion_model}}
    return Config.model_validate(values)


def key(corpus: Path, emotion_model: str = "auto") -> str:
    return assemble(config(corpus, emotion_model)).key("features", Unit("s00"))


def test_a_path_is_relative_to_the_file_that_names_it(tmp_path):
    path = tmp_path / "a.toml"
    for written, meant in (
        ("~nobody-at-all/m", str(tmp_path / "~nobody-at-all/m")),
        ("m.onnx", str(tmp_path / "m.onnx")),
        ("auto", "auto"),
        ("none", "none"),
        ("/m", "/m"),
    ):
        path.write_text(f'corpus = "c"\n[features]\nemotion_model = "{written}"\n')
        assert load_config(path).features.emotion_model == meant
    assert load_config(path).with_emotion_model("x.onnx", Path("/here")).features.emotion_model == "/here/x.onnx"
    assert load_config(path).with_emotion_model("none", Path("/here")).features.emotion_model == "none"


def test_the_key_of_the_features_knows_the_model_by_content(filmed, tmp_path):
    one, same = small_model(tmp_path / "one.onnx"), small_model(tmp_path / "same.onnx")
    without = key(filmed)
    assert key(filmed, "none") == without
    assert key(filmed, str(one)) == key(filmed, str(same)) != without
    (tmp_path / "same.onnx.json").write_text('{"color": "bgr"}')
    assert key(filmed, str(one)) != key(filmed, str(same))
    small_model(one, outputs=10)
    assert key(filmed, str(one)) != key(filmed, str(same))


def test_a_run_with_video_and_no_model_says_so_once(corpus):
    assert not any("emotion" in warning for warning in check(config(corpus)))  # Of text nothing of emotion is said.
    filmed = film_one_person(corpus)
    warnings = check(config(filmed))
    assert sum("apportion models fetch emotion" in warning for warning in warnings) == 1
    engine = assemble(config(filmed))
    assert sum("apportion models fetch emotion" in warning for warning in engine.facts["warnings"](engine)) == 1
    assert not any("emotion" in warning for warning in check(config(filmed, "none")))


def test_a_model_that_cannot_be_used_stops_the_run_before_any_work(filmed, tmp_path):
    for stages in (None, ["split"]):
        with pytest.raises(InputError, match=r"none\.onnx.*no such file"):
            check(config(filmed, str(tmp_path / "none.onnx")), stages)
    (tmp_path / "bad.onnx").write_bytes(b"bad")
    with pytest.raises(InputError, match="not an ONNX model"):
        check(config(filmed, str(tmp_path / "bad.onnx")))
    with pytest.raises(InputError, match="not an ONNX model"):
        check(config(filmed, str(tmp_path / "bad.onnx")), ["verbalize"])
    check(config(filmed, str(tmp_path / "bad.onnx")), ["split"])
    check(config(filmed, str(small_model(tmp_path / "good.onnx"))))


def test_a_corpus_that_brings_its_emotions_needs_no_model(filmed, tmp_path):
    columns = ",".join(EMOTION_COLUMNS.values())
    (filmed / "avf.csv").write_text(f"timedelta,user_id,{columns}\n00:00:00,user{',0.125' * 8}\n")
    row = '{"session_id": "s00", "speaker": "user", "kind": "features", "path": "avf.csv"}\n'
    with (filmed / "media.jsonl").open("a") as media:
        media.write(row)
    assert not any("emotion" in warning for warning in check(config(filmed)))
    (tmp_path / "bad.onnx").write_bytes(b"bad")
    check(config(filmed, str(tmp_path / "bad.onnx")))
    # Gaze alone measures no emotion.
    (filmed / "avf.csv").write_text("timedelta,user_id,gaze_on\n00:00:00,user,1\n")
    assert sum("apportion models fetch emotion" in warning for warning in check(config(filmed))) == 1
    with pytest.raises(InputError, match="not an ONNX model"):
        check(config(filmed, str(tmp_path / "bad.onnx")))


def test_the_records_show_the_file_s_name_and_no_folder(filmed, tmp_path):
    shown = shown_config(config(filmed, str(small_model(tmp_path / "mine.onnx"))))
    assert shown["features"]["emotion_model"].startswith("mine.onnx (sha256 ")
    assert str(tmp_path) not in str(shown)
