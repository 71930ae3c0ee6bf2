"""Proximal policy optimization with a value head on the policy's own hidden states.

From the ground up: `actor_critic` (policy, reference and critic in one model), `advantages` (from scores and divergence
to a reward and an advantage for every token), `losses` (the clipped objective), `checkpoints`, `update` (experience and
the optimizer steps of one step), `ppo` (the step and the training).
"""
