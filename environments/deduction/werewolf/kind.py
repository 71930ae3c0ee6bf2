"""Werewolf to those who play any game, and the simulator of its sessions."""

from __future__ import annotations

from environments.deduction.kinds import GameKind
from environments.deduction.werewolf.agents import ROSTER
from environments.deduction.werewolf.game import Werewolf
from environments.deduction.werewolf.rules import Options

WEREWOLF = GameKind(Werewolf, Options, Werewolf, ROSTER)
SIMULATOR = WEREWOLF.simulator
