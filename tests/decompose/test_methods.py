from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from apportion.decompose import methods
from apportion.decompose.method import Input, Projected, Raw, SessionMethod
from apportion.decompose.methods import METHODS, find_method
from apportion.foundation.errors import InputError

MINE = SessionMethod("mine", "Mine", "tests.decompose.test_methods:MINE")
NOT_A_METHOD = "text"


@pytest.fixture
def installed(monkeypatch):
    def install(**values):
        points = {name: EntryPoint(name, value, "apportion.methods") for name, value in values.items()}
        monkeypatch.setattr(methods, "_entry_points", lambda: points)

    return install


def test_an_unknown_name_is_told_with_the_nearest_and_all():
    with pytest.raises(
        InputError, match=r"'unifrom'; did you mean 'uniform'\? Allowed: affect, affect-raw, episode-score,"
    ):
        find_method("unifrom")
    with pytest.raises(InputError, match=r"'xyz'\. Allowed"):
        find_method("xyz")


def test_a_package_brings_its_own_method_and_ours_come_first(installed):
    installed(mine="tests.decompose.test_methods:MINE")
    assert find_method("mine") is MINE
    assert "mine" in METHODS
    assert list(METHODS)[-1] == "mine"
    installed(uniform="tests.decompose.test_methods:MINE")
    assert find_method("uniform").load == "apportion.decompose.session_methods.baselines:equal_shares"
    assert list(METHODS).count("uniform") == 1


def test_a_package_that_is_broken_is_named_when_it_is_used(installed):
    installed(
        mine="no.such.module:MINE",
        other="tests.decompose.test_methods:NOT_A_METHOD",
        also="tests.decompose.test_methods:MINE",
    )
    assert "mine" in METHODS
    with pytest.raises(InputError, match=r"entry point 'mine'.*cannot be loaded: ModuleNotFoundError"):
        find_method("mine")
    with pytest.raises(InputError, match=r"'other'.*must be an apportion\.decompose\.method\.Method"):
        find_method("other")
    with pytest.raises(InputError, match=r"'also'.*of the same name"):
        find_method("also")


@pytest.mark.parametrize(
    "load", ["no.such.module:x", "apportion.decompose.session_methods.baselines:nothing", "decompose.uniform", ":x"]
)
def test_code_that_cannot_be_imported_is_told(load):
    with pytest.raises(InputError, match="method 'x': cannot load"):
        SessionMethod("x", "X", load).resolve()


def test_only_affect_and_what_mixes_with_it_need_the_rater_s_face():
    looking = [name for name in METHODS if Input.FACE in METHODS[name].inputs]
    assert looking == ["affect", "affect-raw", "rrd-va", "ircr-va", "rudder-va"]
    listening = [name for name in METHODS if Input.VOICE in METHODS[name].inputs]
    assert listening == ["intensity", "intensity-raw"]
    assert {name for name in METHODS if METHODS[name].reads_features} == {*looking, *listening}
    assert [name for name in METHODS if METHODS[name].reads_descriptors] == ["llm-multimodal"]


def test_a_signal_alone_differs_in_that_alone():
    for name in ("sentiment", "sentiment-utterance", "affect", "intensity"):
        signal, alone = find_method(name), find_method(f"{name}-raw")
        assert replace(alone, name=name, title=signal.title, scale=signal.scale) == signal
        assert alone.scale == Raw() and isinstance(signal.scale, Projected)


def test_parts_are_methods_of_the_registry():
    made_of = {name: method.parts for name, method in METHODS.items() if method.parts}
    assert list(made_of) == [
        "rrd-va",
        "rrd-ls",
        "ircr-va",
        "rudder-va",
        "predicted-reaction",
        "reaction-llm",
        "llm-student",
    ]
    assert all(METHODS[part.name] is part for parts in made_of.values() for part in parts.values())
