from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose.corpus_methods import gold
from apportion.foundation.errors import UnitError
from apportion.pipeline.config import Config, load_config, shown_config
from apportion.pipeline.engine.stage import Inputs, Unit, Work
from apportion.pipeline.engine.store import Store
from apportion.pipeline.stages.align import (
    ALIGN,
    _ensemble,
    _gold,
    _gold_lesson,
    _thumbs,
    aligned_method,
    verdict_of,
    worth_note,
)
from tests.evaluation.made_up import labels, splits
from tests.evaluation.methods.test_controls import NAMES, TEST, found

BY_REWARD = labels((name, 2 * i, "x", float(v)) for name in NAMES for i, v in enumerate((1, 3, 5, 4)))
ONE_TESTED = splits(train=NAMES[:6], test=TEST[:1])


def test_the_policy_is_aligned_with_the_chosen_method_or_the_last():
    config = {"corpus": "c", "decompose": {"method": "rrd", "compare": ("uniform",)}}
    assert aligned_method(Config.model_validate(config)) == "rrd"
    assert aligned_method(Config.model_validate({**config, "align": {"reward_method": "uniform"}})) == "uniform"


def test_a_method_s_name_means_its_distilled_reward_model_or_the_only_one():
    def aligned(objective, name=None):
        config = {
            "corpus": "c",
            "decompose": {"method": "rrd", "compare": ("uniform",)},
            "train_reward": {"objective": objective},
        }
        return aligned_method(Config.model_validate({**config, "align": {"reward_method": name}}))

    assert aligned("both") == aligned("both", "rrd") == "rrd"
    assert aligned("both", "rrd-direct") == aligned("direct", "rrd-direct") == "rrd-direct"
    assert aligned("direct") == aligned("direct", "rrd") == "rrd-direct"
    assert aligned("direct", "uniform") == "uniform"


def test_another_runs_reward_model_is_known_by_what_is_in_it_and_not_by_its_place(tmp_path):
    def settings(folder, text):
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(text)
        return ALIGN.settings(Config.model_validate({"corpus": "c", "align": {"reward_model": folder}}), Unit())

    here, there = settings(tmp_path / "a", "{}"), settings(tmp_path / "b", "{}")
    assert here == there != settings(tmp_path / "b", "[]")
    assert "reward_model_files" not in ALIGN.settings(Config.model_validate({"corpus": "c"}), Unit())
    assert "reward_model" not in here["align"]


def test_a_reward_model_is_found_from_the_configuration_and_shown_by_its_name(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('corpus = "c"\n[align]\nreward_model = "../other/llm-seed0"\n')
    config = load_config(path)
    assert config.align.reward_model == tmp_path.parent / "other" / "llm-seed0"
    assert shown_config(config)["align"]["reward_model"] == "llm-seed0"
    changed = config.with_align(tmp_path, reward_model="near")
    assert changed.align.reward_model == tmp_path / "near"


@pytest.mark.parametrize(
    ("evaluation", "align", "stops", "note"),
    [
        ({"turn_labels": BY_REWARD}, {}, False, None),
        ({"turn_labels": BY_REWARD, "splits": ONE_TESTED}, {}, False, "align: the reward model of m is not shown to"),
        ({}, {}, True, None),
        ({}, {"anyway": True}, False, "align: the reward model of m is not shown to agree with people more than"),
        ({"turn_labels": None}, {}, False, "align: nothing says whether its reward model agrees with people more"),
        ({}, {"algorithm": "sft"}, False, None),
    ],
)
def test_a_reward_model_that_is_no_better_than_a_control_is_refused(
    tmp_path, monkeypatch, evaluation, align, stops, note
):
    store = Store(tmp_path)
    store.commit("evaluate", "k", store.scratch(), {}, {"evaluation": found(**evaluation).to_json()})
    evaluated = store.find("evaluate", "k")
    config = Config.model_validate({"corpus": "c", "align": align})
    monkeypatch.setattr("apportion.pipeline.stages.align.aligned_method", lambda config: "m")
    inputs = Inputs(Unit(None, "m", 0), (), {"evaluate": {Unit(): evaluated}})
    refused = "is not shown to agree.*--anyway" if stops else "no splits of the stage 'split'"
    with pytest.raises(UnitError, match=refused):
        ALIGN.fn(inputs, config, Work(tmp_path, lambda *step: None))
    if not stops:
        told = worth_note(config, [evaluated])
        assert told is None if note is None else told.startswith(note)
    assert ("evaluate" in ALIGN.without(config)) == (align != {})


@pytest.mark.parametrize("align", [{"stop": "none"}, {"algorithm": "sft"}, {"processes": 2}])
def test_gold_enters_the_key_where_it_could_be_asked_and_nowhere_else(align):
    def key(**align):
        return dict(ALIGN.settings(Config.model_validate({"corpus": "c", "align": align}), Unit()))

    plain, asked = key(**align), key(algorithm="ppo")
    assert "gold" not in plain and asked.pop("gold")["version"] == 2 and "stop" not in asked["align"]
    assert key(stop="gold") == key() != key(stop="none") == asked


def test_people_s_labels_of_the_policy_split_reach_kto_alone(tmp_path):
    store = Store(tmp_path)
    store.commit("split", "k", store.scratch(), {"splits": splits(policy=["a"], train=["b"], test=["c"])}, {})
    given = labels((name, turn, "x", value) for name in "abc" for turn, value in ((0, 5.0), (2, 1.0), (4, 3.0)))
    inputs = Inputs(Unit(), (), {"split": {Unit(): store.find("split", "k")}}, given)
    kto, ppo, off = (
        Config.model_validate({"corpus": "c", "align": align, "evaluate": {"label": "quality"}})
        for align in ({"algorithm": "kto"}, {}, {"algorithm": "kto", "enabled": False})
    )
    assert (
        _thumbs(inputs, kto) == {("a", 0): True, ("a", 2): False}
        and _thumbs(replace(inputs, turn_labels=None), kto) == {}
    )
    for name, several in (("vigour", False), (None, True)):
        place, names = given.schema.get_field_index("name"), ["b", *["a"] * (len(given) - 1)]
        other = given.set_column(place, "name", pa.array(names)) if several else given
        named = kto.model_copy(update={"evaluate": kto.evaluate.model_copy(update={"label": name})})
        with pytest.raises(UnitError, match=r"'kto': evaluate.label = .*Choose one with evaluate.label"):
            _thumbs(replace(inputs, turn_labels=other), named)
    assert [ALIGN.turn_labels(config) for config in (kto, ppo, off)] == [True, False, False]
    assert ALIGN.settings(kto, Unit())["label"] == "quality" and "label" not in ALIGN.settings(ppo, Unit())


def test_too_few_scored_sessions_give_no_gold_and_who_asks_for_it_is_told(tmp_path):
    def asked(**align):
        config = Config.model_validate({"corpus": "c", "align": align})
        with _gold(inputs, config, Work(tmp_path, lambda *step: None)) as found:
            return found

    store = Store(tmp_path)
    store.commit("split", "k", store.scratch(), {"splits": splits(policy=NAMES)}, {})
    inputs = Inputs(Unit(None, "mix", 0), (), {"split": {Unit(): store.find("split", "k")}})
    assert asked(stop="none") == ""
    assert asked().startswith("No gold reward tells whether the policy has gained: the policy split has 0 sessions")
    with pytest.raises(UnitError, match=r"align.stop = 'gold': No gold reward .* Or set align.stop = 'none'"):
        asked(stop="gold")


@pytest.mark.parametrize("fails", [False, True])
def test_enough_scored_sessions_give_two_models_or_the_cause(tmp_path, monkeypatch, fails):
    def train_gold(lesson, out):
        if fails:
            raise UnitError("the loss is nan.")
        return out / "a", out / "b"

    monkeypatch.setattr(gold, "FEWEST", 1)
    monkeypatch.setattr(gold, "train_gold", train_gold)
    store, rating = Store(tmp_path), Rating("ann", "bob", "liking", 3.0, 1.0, 5.0)
    store.commit("split", "k", store.scratch(), {"splits": splits(policy=NAMES[:3], train=NAMES[3:4])}, {})
    sessions = tuple(Session(name, (Turn(0, "bob", "Hello."),), (rating,)) for name in NAMES[:4])
    inputs = Inputs(Unit(None, "mix", 0), sessions, {"split": {Unit(): store.find("split", "k")}})
    config, work = (
        Config.model_validate({"corpus": "c"}),
        Work(tmp_path, lambda *step: None, checkpoints=tmp_path / "c"),
    )
    with _gold(inputs, config, work) as found:
        if fails:
            assert found == "No gold reward tells whether the policy has gained: the loss is nan."
        else:
            assert found.choice.parent.parent == tmp_path and found.choice.parent.name.startswith("gold-")
            assert found.told.startswith("By gold A (2 sessions) and gold B (1 others), of the policy split, learned")


@pytest.mark.parametrize(
    ("train_reward", "align", "method"),
    [
        ({}, {}, "predicted-reaction"),
        ({"teacher": "predicted-reaction"}, {}, "ircr"),
        ({"teacher": "predicted-reaction"}, {"reward_ensemble": ["uniform", "predicted-reaction"]}, "ircr"),
        ({"teacher": "predicted-reaction"}, {"reward": "length"}, "predicted-reaction"),
    ],
)
def test_gold_learns_by_another_method_than_the_reward(tmp_path, monkeypatch, train_reward, align, method):
    monkeypatch.setattr("apportion.rlhf.settings.AlignSettings.reward_by", property(lambda self: Anything()))
    store = Store(tmp_path)
    store.commit("split", "k", store.scratch(), {"splits": splits(policy=NAMES)}, {})
    inputs = Inputs(Unit(None, "mix", 0), (), {"split": {Unit(): store.find("split", "k")}})
    config = Config.model_validate({"corpus": "c", "train_reward": train_reward, "align": align})
    assert _gold_lesson(inputs, config).method == method


def test_several_reward_models_are_read_and_brought_into_one_unit(tmp_path):
    align = {"reward_ensemble": ["rrd", "uniform"]}
    config = Config.model_validate(
        {"corpus": "c", "seeds": [0, 1], "decompose": {"method": "uniform", "compare": ["rrd"]}, "align": align}
    )
    unit = Unit(None, "rrd", 0)
    units = [Unit(None, name, seed) for name in ("rrd", "uniform") for seed in (0, 1)]
    assert aligned_method(config) == "rrd" and ALIGN.applies(config, unit, None)
    assert [*ALIGN.read_as(config, unit, "train-reward")] == units
    assert [*ALIGN.read_as(config, unit, "evaluate")] == [unit]
    store = Store(tmp_path)
    store.commit("split", "k", store.scratch(), {"splits": splits(train=NAMES[:1], validation=NAMES[1:2])}, {})

    def found(*held):
        values = [(NAMES[0], 99.0), *((NAMES[1], value) for value in held)]
        rows = [{"session_id": name, "advantage": value} for name, value in values]
        key = str(held)
        store.commit("train-reward", key, store.scratch(), {"scores": pa.Table.from_pylist(rows)}, {})
        return store.find("train-reward", key)

    def members(*held):
        trained = dict(zip(units, [found(1.0, 3.0)] * 3 + [found(*held)], strict=True))
        upstream = {"split": {Unit(): store.find("split", "k")}, "train-reward": trained}
        return _ensemble(Inputs(unit, (), upstream), config), trained

    together, trained = members(5.0, 5.5, 6.0)
    assert [one.folder for one in together] == [trained[each].folder / "model" for each in units]
    assert [(one.mean, one.sd) for one in together[2:]] == [(2.0, 1.0), (5.5, pytest.approx(0.5 * (2 / 3) ** 0.5))]
    for held in ((4.0, 4.0), ()):
        with pytest.raises(UnitError, match=rf"model of uniform, seed 1 pays all {len(held)} recorded turns .* alike"):
            members(*held)
    del trained[units[3]]
    upstream = {"split": {Unit(): store.find("split", "k")}, "train-reward": trained}
    with pytest.raises(UnitError, match="the reward model of uniform, seed 1 is not there, its training failed"):
        _ensemble(Inputs(unit, (), upstream), config)


def test_of_several_reward_models_the_worst_says_whether_the_policy_is_worth_it(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.commit("evaluate", "k", store.scratch(), {}, {"evaluation": {}})
    verdicts = {"rrd": 0.5, "uniform": 0.1, "llm": None}
    monkeypatch.setattr(
        "apportion.pipeline.stages.align.beats_controls",
        lambda document, name: (
            verdicts[name] and SimpleNamespace(method=name, gain=SimpleNamespace(value=verdicts[name]))
        ),
    )
    together = {"decompose": {"method": "uniform", "compare": ["rrd", "llm"]}}
    for names, worst in ((["rrd", "llm", "uniform"], "uniform"), (["rrd", "llm"], "rrd")):
        config = Config.model_validate({"corpus": "c", **together, "align": {"reward_ensemble": names}})
        assert verdict_of(config, [store.find("evaluate", "k")]).method == worst


class Anything:
    def checked(self, settings):
        return None
