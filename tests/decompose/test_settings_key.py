from dataclasses import replace

import pytest

from apportion.decompose.method import ScoreUnits
from apportion.decompose.methods import METHODS
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import configured, settings_identity
from apportion.foundation.errors import InputError
from tests.decompose.reactions.made_up import write_made_up

DEFAULT = DecomposeSettings()


def identity(name, **changes):
    return settings_identity(METHODS[name], DecomposeSettings(**changes))


def test_a_mix_depends_on_the_settings_of_what_it_mixes():
    plain = identity("mix")
    assert (
        identity("mix", reaction={"recency_weights": [0.0]})
        != plain
        != identity("mix", stacking={"components": ["reaction"]})
    )
    assert identity("mix", stacking={"weights": {"llm": 1.0}}) != plain
    assert identity("mix", rrd={"k": 3}) == plain
    for name, changes in (
        ("rrd-va", {"geli": {"weight": 0.25}}),
        ("rrd-va", {"rrd": {"k": 5}}),
        ("rrd-va", {"affect": {"window": "reply"}}),
        ("rrd-ls", {"sentiment": {"classifier": "x"}}),
        ("rudder-va", {"rudder": {"auxiliary": 1.0}}),
    ):
        assert identity(name, **changes) != identity(name), name
    assert identity("rrd-va", sentiment={"classifier": "x"}, rudder={"auxiliary": 1.0}) == identity("rrd-va")


def test_what_decides_the_values_is_in_the_identity():
    for changes in (
        {"model": "other"},
        {"temperature": 0.5},
        {"prompt": "paper"},
        {"samples": 2},
        {"max_tokens": 5},
        {"question": "whether it worked"},
        {"provider": "recorded"},
        {"reasoning_effort": "low"},
        {"extra_body": {"top_k": 1}},
    ):
        assert identity("llm", llm=changes) != identity("llm"), changes
    assert identity("sentiment", sentiment={"classifier": "x"}) != identity("sentiment")
    assert identity("rrd", rrd={"k": 5}) != identity("rrd")
    assert identity("affect", affect={"window": "reply"}) != identity("affect")
    assert identity("rudder", rudder={"auxiliary": 1.0}) != identity("rudder")


def test_how_a_reply_is_fetched_and_another_method_s_settings_are_not():
    llm = {"base_url": "http://localhost:1/v1", "timeout_s": 5, "max_retries": 1, "concurrency": 2, "allow_host": "x"}
    assert identity("llm", llm={**llm, "api_key_env": "X", "max_reply_attempts": 5}) == identity("llm")
    assert identity("uniform", llm={"model": "x"}, rrd={"k": 3}) == identity("uniform")
    assert identity("sentiment", llm={"model": "x"}, rrd={"k": 3}) == identity("sentiment")


def test_the_paper_s_prompt_gives_reward_units():
    paper = DecomposeSettings(llm={"prompt": "paper"})
    assert isinstance(configured(METHODS["llm"], paper).scale, ScoreUnits)
    assert not isinstance(configured(METHODS["llm"], DEFAULT).scale, ScoreUnits)
    assert not isinstance(configured(METHODS["sentiment"], paper).scale, ScoreUnits)
    assert isinstance(configured(METHODS["rrd"], DEFAULT).scale, ScoreUnits)


def test_where_a_method_s_code_lies_is_no_part_of_its_identity_and_its_version_is():
    uniform = METHODS["uniform"]
    assert settings_identity(replace(uniform, load="elsewhere:judge"), DEFAULT) == identity("uniform")
    assert settings_identity(replace(uniform, version=2), DEFAULT) != identity("uniform")


def test_a_model_of_reactions_counts_by_its_content_and_for_who_reads_it_alone(tmp_path):
    write_made_up(tmp_path / "one.safetensors")
    write_made_up(tmp_path / "same.safetensors")
    write_made_up(tmp_path / "other.safetensors", seed=1)
    one, same, other = ({"pretrained": tmp_path / f"{name}.safetensors"} for name in ("one", "same", "other"))
    assert identity("prior", reaction=one) == identity("prior", reaction=same) != identity("prior", reaction=other)
    assert identity("reaction", reaction=one) == identity("reaction")
    assert identity("mix", reaction=one) == identity("mix", reaction=same) != identity("mix", reaction=other)
    alone = {"components": ("reaction",)}
    assert identity("mix", reaction=one, stacking=alone) == identity("mix", reaction=other, stacking=alone)
    assert identity("reaction", reaction={"max_tokens": 64}) != identity("reaction")
    with pytest.raises(InputError, match="no reaction model is named"):
        identity("prior")
