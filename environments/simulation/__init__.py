"""From a choice of what is played by whom to a corpus, of any environment.

From the ground up: `choice` (who plays what, and its corpus), `pricing` (what that would cost, and would send),
`persons_episode` (an episode in which a person takes part, added to a folder of them),
`of_rules` (the simulator of games that rules score).
"""

from apportion.environments.simulation.choice import Players, Simulation, write_corpus

__all__ = ["Players", "Simulation", "write_corpus"]
