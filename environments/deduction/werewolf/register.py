"""Werewolf to those who play any game, and the simulator of its sessions."""

from __future__ import annotations

from apportion.environments.deduction.games import GameKind
from apportion.environments.deduction.werewolf.agents import ROSTER
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import Options

WEREWOLF = GameKind(Werewolf, Options, Werewolf, ROSTER)
SIMULATOR = WEREWOLF.simulator
