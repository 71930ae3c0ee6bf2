"""Our opening views of the released episodes hold what theirs hold."""

from collections import Counter

from benchmarks.opening_views import compared
from tests.shared import shared


def test_each_fact_that_a_released_agent_reads_ours_reads_but_for_the_names_of_strangers() -> None:
    found, views = compared(shared("data/sotopia_rl").parent)
    counted = Counter((one.only, one.about, one.fact) for one in found)
    assert views == 40
    # Ours shows as fields what theirs tells in the words of the description alone: nothing of it is hidden by 2.1.
    fields = {"big_five", "moral_values", "schwartz_values", "decision_style"}
    assert {fact for only, _, fact in counted if only == "ours"} <= fields
    assert {key: n for key, n in counted.items() if key[0] == "theirs"} == {("theirs", "the other", "name"): 12}
