import pytest

from apportion.evaluation.evaluation import Evaluation
from tests.evaluation.made_up import evaluated
from tests.evaluation.test_evaluate import inputs


@pytest.fixture(scope="session")
def usual() -> Evaluation:
    """The evaluation of `inputs` as they are."""
    return evaluated(**inputs())
