"""Agents by name."""

import pytest

from environments.sotopia.agents import AGENTS, agents_of
from foundation.errors import InputError


def test_each_name_has_an_agent_that_is_called_so() -> None:
    for name, agent in agents_of(AGENTS.names()).items():
        assert agent.called == name and not agent.paid


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match="no agent 'concedin'; did you mean 'conceding'"):
        agents_of(["concedin"])
