import subprocess
import sys

import pytest

import apportion
from apportion import reward_model
from tests.behaviour.command import environment


def test_the_reward_model_is_found_under_both_names():
    from apportion import RewardModel
    from apportion.reward_model.model import RewardModel as Home

    assert RewardModel is Home is reward_model.RewardModel


@pytest.mark.parametrize("package", [apportion, reward_model])
def test_other_names_are_not(package):
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = package.Nothing  # type: ignore[attr-defined]


def test_importing_the_packages_loads_no_heavy_library():
    heavy = "[name for name in ('torch', 'transformers') if name in sys.modules]"
    code = f"import sys, apportion, apportion.cli, reward_model; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
