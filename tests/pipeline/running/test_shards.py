import pytest

from foundation.errors import InputError
from pipeline.config import Config
from pipeline.running.shards import _split, list_shards
from tests.pipeline.stages.planned import BY_NAME, plan


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 1024])
def test_shards_hold_every_unit_once_and_are_no_more_than_asked_for(shards):
    p = plan(("uniform", "llm", "llm-multimodal"))

    class FakeEngine:
        plan = p
        config = Config.model_validate({"corpus": "c", "decompose": {"methods": ("uniform", "llm", "llm-multimodal")}})

    parts = _split(FakeEngine(), BY_NAME["judge"], shards)
    assert len(parts) <= shards
    assert all(parts)
    assert sorted(unit for part in parts for unit in part) == sorted(p.units["judge"])


@pytest.mark.parametrize("shards", [0, 1025])
def test_too_few_or_too_many_shards(shards):
    with pytest.raises(InputError, match="allowed are 1 to 1024"):
        _split(None, BY_NAME["judge"], shards)


def test_an_unknown_stage_or_corpus(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('corpus = "none"')
    with pytest.raises(InputError, match="no such corpus folder"):
        list_shards(str(path), "judge", 2)
