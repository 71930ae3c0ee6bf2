from __future__ import annotations

from dataclasses import replace

import pytest

from apportion.decompose import reward_models as module
from apportion.decompose.methods import METHODS, find_method
from apportion.decompose.reward_models import direct_notes, reward_models, taught_by
from apportion.foundation.errors import InputError

NAMES = ("uniform", "rrd-ls", "llm", "rudder", "reaction")


def test_what_teaches_a_reward_model() -> None:
    assert reward_models(NAMES, "distilled") == NAMES
    assert reward_models(NAMES, "direct") == ("uniform", "rrd-ls-direct", "llm", "rudder-direct", "reaction")
    both = ("uniform", "rrd-ls", "rrd-ls-direct", "llm", "rudder", "rudder-direct", "reaction")
    assert reward_models(NAMES, "both") == both
    assert taught_by("rrd-ls-direct") == (METHODS["rrd-ls"], True)
    assert taught_by("rrd-ls") == (METHODS["rrd-ls"], False)
    with pytest.raises(InputError, match="no decomposition method 'rdr'; did you mean 'rrd'"):
        taught_by("rdr-direct")


def test_a_package_s_method_of_that_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    brought = replace(find_method("rrd"), name="rrd-direct")
    monkeypatch.setattr(module, "METHODS", {**METHODS, "rrd-direct": brought})
    assert reward_models(("rrd", "rrd-direct"), "distilled") == ("rrd", "rrd-direct")
    with pytest.raises(InputError, match="'rrd-direct' is a method that an installed package brings, and also"):
        reward_models(("rrd",), "both")


def test_a_table_says_what_the_direct_ones_are() -> None:
    assert direct_notes(NAMES) == ()
    (note,) = direct_notes(("rrd", "ircr-direct", "rrd-direct"))
    assert note.startswith("ircr-direct, rrd-direct: reward models trained on the objective itself; without -direct, ")
    _, differences = direct_notes(("rrd-direct", "rudder-direct"))
    assert differences.startswith("rudder-direct: differences of predicted returns")
