"""From a choice of what is played by whom to a corpus, of any environment.

From the ground up: `plan` (who plays what, its corpus, what that would cost and would send),
`rule_scored` (the simulator of games that rules score).
"""

from apportion.environments.simulation.plan import Players, Simulation, write_corpus

__all__ = ["Players", "Simulation", "write_corpus"]
