"""Proximal policy optimization with a value head on the policy's own hidden states.

From the ground up:

- `actor_critic`: policy, reference and critic in one model
- `experience`: one step's responses, and how they are divided among optimizer steps
- `token_rewards`: from scores of turns to a reward for every token
- `advantages`: generalised advantage estimation
- `kl_control`: how much a nat of divergence costs
- `losses`: the clipped objective
- `learning_rate`: what of it a step has
- `checkpoints`: what a killed training goes on from
- `update`: the optimizer steps of one step
- `ppo`: the step and the training
"""
