"""Proximal policy optimization with a value head on the policy's own hidden states.

From the ground up: `actor_critic` (policy, reference and critic in one model), `objective` (rewards and advantages of
tokens, and the clipped objective), `update` (experience and the optimizer steps of one step), `ppo` (the step, the
training and its checkpoints).
"""
