"""From a choice of what is played by whom to a corpus, of any environment.

From the ground up: `plan` (who plays what, and its corpus), `cost_estimate` (what that would cost, and would send),
`episode` (an episode in which a person takes part, added to a folder of them),
`rule_scored` (the simulator of games that rules score).
"""

from apportion.environments.simulation.plan import Players, Simulation, write_corpus

__all__ = ["Players", "Simulation", "write_corpus"]
