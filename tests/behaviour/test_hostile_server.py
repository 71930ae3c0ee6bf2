import shutil

import pytest

from tests.llm_client.hostile.faults import FAULTS, SIZES
from tests.llm_client.hostile.trial import tried

_FEWEST = 30


def test_there_are_enough_faults_and_none_is_named_twice():
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names)) >= _FEWEST


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_the_outcome_that_a_person_may_expect(fault, tmp_path):
    if fault.kind == "tls" and shutil.which("openssl") is None:
        pytest.skip("no program openssl to make a certificate with")
    # What is about memory, or about what a process is given, has one of its own.
    trial = tried(fault, tmp_path, alone=fault.kind != "http" or fault in SIZES)
    assert trial.outcome == fault.outcome, trial.said
    assert trial.lost == 0, trial.said
    # The server is well again: the same command gets the rest, and pays for nothing that is there.
    assert trial.after == fault.after
    assert trial.asked_again == 0
