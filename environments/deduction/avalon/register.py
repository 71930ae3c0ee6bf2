"""Avalon to those who play any game: its options, its environment, who can play it."""

from __future__ import annotations

from apportion.environments.deduction.avalon.agents import ROSTER
from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.rules import Options
from apportion.environments.deduction.games import GameKind

AVALON = GameKind(Avalon, Options, Avalon, ROSTER)
SIMULATOR = AVALON.simulator
