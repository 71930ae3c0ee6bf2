from apportion.decompose.method_settings import InfluenceSettings


def test_folders_and_files_are_found_from_the_configuration(tmp_path):
    (tmp_path / "model").mkdir()
    found = InfluenceSettings(model="model", tokenizer="some/name", intents="in.jsonl").found_from(tmp_path)
    assert found.model == str(tmp_path / "model") and found.tokenizer == "some/name"
    assert found.intents == tmp_path / "in.jsonl"
    assert InfluenceSettings().found_from(tmp_path) == InfluenceSettings()
    assert found.shown() == {"model": "model", "tokenizer": "some/name", "intents": "in.jsonl"}


def test_a_model_and_a_file_count_by_what_they_hold(tmp_path):
    for name in ("one", "same", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(name if name == "other" else "x")
    keys = [InfluenceSettings(model=str(tmp_path / n)).identity(served=False) for n in ("one", "same", "other")]
    assert keys[0] == keys[1] != keys[2]
    path = tmp_path / "in.jsonl"
    missing = InfluenceSettings(intents=path).identity(served=True)
    path.write_text("{}")
    assert missing["intents"] == "" != InfluenceSettings(intents=path).identity(served=True)["intents"]


def test_what_one_of_the_methods_does_not_read_is_not_in_its_key():
    here, there = InfluenceSettings(way="completions"), InfluenceSettings(model="m", dtype="bfloat16")
    assert here.identity(served=False) == InfluenceSettings().identity(served=False)
    assert there.identity(served=True) == InfluenceSettings().identity(served=True)
