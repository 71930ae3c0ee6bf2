from foundation.nearest import did_you_mean, nearest


def test_a_slip_is_found_and_anything_else_is_not():
    assert nearest("uniforn", ("rrd", "uniform")) == "uniform"
    assert nearest("zzz", ("rrd", "uniform")) is None
    assert nearest("uniforn", ("uniform",), cutoff=1) is None


def test_the_question_or_what_stands_for_it():
    assert did_you_mean("uniforn", ["uniform"], after=" Rename it.") == "did you mean 'uniform'? Rename it."
    assert did_you_mean("zzz", ["uniform"], "add it.") == "add it."
    assert did_you_mean("zzz", []) == ""
