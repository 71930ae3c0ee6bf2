"""What every algorithm shares.

From the ground up:

- `job`: what is to be aligned
- `partial_curves`: what a training had measured at its newest checkpoint
- `metrics`: what was measured, step by step
- `run`: settings, seed, and where metrics, progress and checkpoints go
- `reward`: the reward of a reply, checked before it is learned from
- `score_norm`: scores less their running mean, in their running deviation
- `masked_mean`: means over the tokens of replies
- `shuffled`: the order in which things are taken
- `alarms`: signs that a policy games its reward
- `checkpoint_folders`: folders written whole or not at all
- `rng_state`: a run's random numbers and terminal kept from others
- `progress_line`, `event_files`, `weights_and_biases`: what a person sees of a run
- `tiny_policy`: the small LLaMA that is built on the spot
- `memory_estimate`: how much memory PPO needs (`python -m apportion.rlhf.training.memory_estimate`)
"""
