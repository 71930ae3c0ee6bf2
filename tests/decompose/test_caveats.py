from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.caveats import longest_episode, method_notes, own_units, same_as
from apportion.decompose.method_settings import RRDSettings
from apportion.decompose.methods import find_method
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import settings_identity

FAMILY = ("rrd", "rrd-published", "rrd-160", "rrd-160-published")
ALL = DecomposeSettings(method="ircr-va", compare=("uniform", *FAMILY, "rrd-va"))


def test_k_and_loss_are_told_where_dialogues_are_longer_than_k_alone() -> None:
    assert method_notes(ALL, 400) == (
        "rrd, rrd-va: K = 32 turns drawn of up to 400, corrected loss.",
        "rrd-published: K = 32 turns drawn of up to 400, published (biased) loss.",
        "rrd-160: K = 160 turns drawn of up to 400, corrected loss.",
        "rrd-160-published: K = 160 turns drawn of up to 400, published (biased) loss.",
    )
    assert len(method_notes(ALL, 100)) == 3 and "rrd-160, rrd-160-published: no dialogue" in method_notes(ALL, 100)[2]
    assert method_notes(DecomposeSettings(method="rrd-va", compare=("uniform", "rrd")), 25) == ()
    (only,) = method_notes(ALL, 25)
    assert only == (
        "rrd, rrd-published, rrd-160, rrd-160-published: no dialogue has more than 25 turns, so that all are taken and "
        "none is drawn; these losses are one and the same."
    )


@pytest.mark.parametrize(
    ("longest", "same"), [(25, "rrd"), (32, "rrd"), (33, "rrd-160"), (160, "rrd-160"), (161, None)]
)
def test_why_a_method_says_again_what_another_does(longest: int, same: str | None) -> None:
    earlier = FAMILY[: FAMILY.index("rrd-160-published")]
    why = f"no dialogue has more than {longest} turns to draw from, so that it is {same} again"
    assert same_as("rrd-160-published", earlier, ALL, longest) == (why if same else None)
    assert same_as("uniform", FAMILY, ALL, longest) is None and same_as("rrd-va", FAMILY, ALL, longest) is None


def test_a_signal_alone_is_the_signal_where_its_numbers_are_kept_and_nothing_is_left_out() -> None:
    among = ("uniform", "sentiment", "affect")
    published = DecomposeSettings(constraint="soft", target="score")
    assert same_as("sentiment-raw", among, published, 9) == "constraint = soft makes sentiment the same"
    assert same_as("sentiment-utterance-raw", among, published, 9) is None
    for settings in (DecomposeSettings(constraint="soft"), DecomposeSettings(target="score")):
        assert same_as("sentiment-raw", among, settings, 9) is None
    assert same_as("sentiment", (*among, "sentiment-raw"), published, 9) is None


@given(st.integers(2, 400), st.booleans())
def test_a_name_goes_before_what_is_configured_and_the_rest_stays(k: int, corrected: bool) -> None:
    settings = DecomposeSettings(rrd=RRDSettings(k=k, corrected=corrected))
    found = {name: settings.section_of(find_method(name)) for name in FAMILY}
    assert {name: (one.k, one.corrected) for name, one in found.items()} == {
        "rrd": (k, corrected),
        "rrd-published": (k, False),
        "rrd-160": (160, corrected),
        "rrd-160-published": (160, False),
    }
    assert found["rrd"] is settings.rrd
    known = [settings_identity(find_method(name), settings) for name in FAMILY]
    assert known[0] == {"method": "rrd", "version": 1, "k": k, "corrected": corrected}
    assert known[3] == {"method": "rrd-160-published", "version": 1, "k": 160, "corrected": False}


def test_the_longest_episode_is_of_target_turns() -> None:
    turns = tuple(Turn(i, "bot" if i % 3 else "user", "x") for i in range(9))
    assert longest_episode([Episode("a", turns, Rating("user", "bot", "mood", 3.0, 1.0, 5.0))]) == 6
    assert longest_episode([]) == 0


def test_what_is_in_units_of_its_own() -> None:
    methods = ("uniform", "sentiment", "sentiment-raw", "affect-raw", "llm", "rrd")
    assert own_units(DecomposeSettings(method=methods[-1], compare=methods[:-1])) == ("sentiment-raw", "affect-raw")
    soft = DecomposeSettings(method=methods[-1], compare=methods[:-1], constraint="soft")
    assert own_units(soft) == ("uniform", "sentiment", "sentiment-raw", "affect-raw", "llm")
    shares = DecomposeSettings(method="rrd", compare=("llm",), constraint="soft", llm={"prompt": "paper"})
    assert own_units(shares) == ()
