import tomllib

import pytest

from apportion.decompose.settings import AuditSettings, ReactionSettings
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config, load_config, shown_config
from apportion.pipeline.template import render_template
from apportion.reward_model.settings import RewardModelSettings


def written(tmp_path, text: str):
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_are_relative_to_the_file(tmp_path):
    config = load_config(written(tmp_path, 'corpus = "c"\noutput = "/out"\n[run]\nrecorded = "r.jsonl"\n'))
    assert config.corpus == tmp_path / "c"
    assert str(config.output) == "/out"
    assert config.run.recorded == tmp_path / "r.jsonl"
    assert config.store == config.output / "store"
    assert config.llm_cache == config.output / "llm_cache.sqlite"


def test_a_section_within_a_section_is_changed_and_nothing_beside_it(tmp_path):
    config = load_config(
        written(tmp_path, 'corpus = "c"\n[decompose]\nmethod = "uniform"\n[decompose.llm]\nmodel = "m"\n')
    )
    changed = config.changed("decompose.llm", samples=3)
    assert (changed.decompose.llm.samples, changed.decompose.llm.model) == (3, "m")
    assert changed.decompose.methods == ("uniform",)
    assert changed.changed("decompose.llm", samples=config.decompose.llm.samples) == config
    assert config.align.enabled and not config.changed("align", enabled=False).align.enabled


def test_a_model_of_vocal_intensity_is_found_from_the_file_and_shown_without_its_place(tmp_path):
    config = load_config(written(tmp_path, 'corpus = "c"\n[decompose.intensity]\nmodel = "m/voices"\n'))
    assert config.decompose.intensity.model == tmp_path / "m" / "voices"
    assert shown_config(config)["decompose"]["intensity"]["model"] == "voices"
    assert shown_config(load_config(written(tmp_path, 'corpus = "c"')))["decompose"]["intensity"]["model"] is None


def test_a_model_of_reactions_is_found_from_the_file_and_shown_without_its_place(tmp_path):
    config = load_config(written(tmp_path, 'corpus = "c"\n[decompose.reaction]\npretrained = "m/learnt.safetensors"\n'))
    assert config.decompose.reaction.pretrained == tmp_path / "m" / "learnt.safetensors"
    assert shown_config(config)["decompose"]["reaction"]["pretrained"] == "learnt.safetensors"
    assert shown_config(load_config(written(tmp_path, 'corpus = "c"')))["decompose"]["reaction"]["pretrained"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus = 'c'\nrecorpus = 'd'", r"recorpus: unknown key; did you mean 'corpus'\? Allowed: align, corpus"),
        ("corpus = 'c'\n[decompose]\nmethd = 'rrd'", r"decompose.methd: unknown key; did you mean 'method'\?"),
        ("corpus = 'c'\n[decompose.llm]\nmodle = 'x'", r"decompose.llm.modle: unknown key; did you mean 'model'\?"),
        ("corpus = 'c'\nzzzzzz = 1", "zzzzzz: unknown key; remove it"),
        ("output = 'o'", "corpus: missing"),
        ("corpus = 'c'\noutput = 's3://b/o'", "output = 's3://b/o': a folder of this machine .* bucket of run.store"),
        ("corpus = 'c'\nseeds = []", "seeds"),
        ("corpus = 'c'\nseeds = [1, 1]", "repeat"),
        ("corpus = 'c'\n[split]\ntrain = 2.0", "split.train = 2.0"),
        ("corpus = 'c'\n[decompose]\nmethod = 'rrdd'", "did you mean 'rrd'"),
        ("corpus = ", "not valid TOML"),
        ("corpus = 'c'\nseeds = [" + "9" * 5000 + "]", "not valid TOML"),
        ("corpus = 'c'\nseeds = " + "[" * 3000, "nested too deeply to read"),
        ("#" * ((1 << 20) + 1), "1,048,577 bytes; a configuration has at most 1,048,576"),
        ('corpus = "a\\u0000b"', r"corpus = 'a\\x00b': holds the character NUL"),
        ("corpus = 'c'\n[decompose]\nmethod = \"a\\u0000b\"", "decompose.method = "),
    ],
)
def test_a_bad_configuration_says_which_key_and_what_is_allowed(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load_config(written(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"no such file.*apportion init"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(InputError, match="is a folder"):
        load_config(tmp_path)
    (tmp_path / "circle.toml").symlink_to("circle.toml")
    with pytest.raises(InputError, match=r"cannot be looked at \(Too many levels of symbolic links\)"):
        load_config(tmp_path / "circle.toml")
    (tmp_path / "latin.toml").write_bytes(b"corpus = '\xe4'")
    with pytest.raises(InputError, match="not UTF-8 at byte 10"):
        load_config(tmp_path / "latin.toml")
    with pytest.raises(InputError, match="a folder on the way to it is a file"):
        load_config(tmp_path / "latin.toml" / "x.toml")


def test_a_policy_whose_name_is_too_long_for_a_folder_is_a_name(tmp_path):
    assert load_config(written(tmp_path, f"corpus = 'c'\n[align]\npolicy = '{'x' * 300}'")).align.policy == "x" * 300


@pytest.mark.parametrize("key", ["corpus", "output"])
def test_names_that_no_file_can_have(tmp_path, key):
    with pytest.raises(InputError, match=r"xxx…': cannot be looked at \(File name too long\)"):
        load_config(written(tmp_path, "corpus = 'c'\noutput = 'o'\n".replace(f"{key} = '", f"{key} = '" + "x" * 300)))


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError

    path = written(tmp_path, "corpus = 'c'")
    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    with pytest.raises(InputError, match="no permission"):
        load_config(path)


def test_the_template_is_a_valid_configuration_with_every_default(tmp_path):
    text = render_template({"corpus": "c", "output": "o", "rating": None})
    config = load_config(written(tmp_path, text))
    assert config.with_run() == load_config(written(tmp_path, 'corpus = "c"\noutput = "o"\n'))


def test_every_default_in_the_template_can_be_switched_on(tmp_path):
    lines = render_template({"corpus": "c"}).splitlines()
    known = {name for model in _models(Config) for name in model.model_fields}
    switched = []
    for line in lines:
        key = line.removeprefix("# ").split(" =")[0]
        on = line.startswith("# ") and key in known and not line.rstrip().endswith("=")
        switched.append(line.removeprefix("# ") if on else line)
    text = "\n".join(switched)
    assert len(tomllib.loads(text)) > 5
    defaults = load_config(written(tmp_path, 'corpus = "c"\n'))
    assert load_config(written(tmp_path, text)) == defaults


def test_overrides_leave_the_rest_alone(tmp_path):
    config = load_config(written(tmp_path, 'corpus = "c"\n[run]\nthreads = 2\n'))
    changed = config.with_run(limit=3, workers=None)
    assert (changed.run.limit, changed.run.threads, changed.run.workers) == (3, 2, 0)
    assert changed.workers >= 1


@pytest.mark.parametrize("settings", [RewardModelSettings(), ReactionSettings(), AuditSettings()])
def test_a_key_holds_every_field_but_those_that_are_left_out_by_name(settings):
    fields = set(type(settings).model_fields)
    assert fields > settings.NOT_IN_KEY
    assert settings.in_key().keys() == fields - settings.NOT_IN_KEY


def test_a_field_that_is_added_to_the_settings_is_part_of_the_key():
    class WithMore(ReactionSettings):
        more: int = 1

    assert WithMore(recency_weights=(1.0,)).in_key() == {**ReactionSettings().in_key(), "more": 1}


def _models(model):
    yield model
    for field in model.model_fields.values():
        if hasattr(field.annotation, "model_fields"):
            yield from _models(field.annotation)


@pytest.mark.parametrize(
    ("section", "key", "bundled"), [("align", "policy", "tiny"), ("train_reward", "backbone", "minilm")]
)
def test_a_model_s_folder_is_found_from_the_file_and_told_by_its_name(tmp_path, section, key, bundled):
    def read(value):
        config = load_config(written(tmp_path, f"corpus = 'c'\n[{section}]\n{key} = '{value}'"))
        return getattr(getattr(config, section), key), shown_config(config)[section][key]

    (tmp_path / "llama").mkdir()
    folder = str(tmp_path.resolve() / "llama")
    assert read("llama") == read("./llama") == (folder, "llama")
    assert read("some/model") == ("some/model", "some/model")
    (tmp_path / bundled).mkdir()
    assert read(bundled) == (bundled, bundled)
