"""What every algorithm shares.

From the ground up:

- `metrics`: what was measured, step by step, and shown of it
- `job`: what is to be aligned, and what a run is given
- `endings`: how episodes ended
- `reward`: the reward of a reply, checked and normalised before it is learned from; `ensemble`: that of several models;
  `refreshed_reward`: one whose sense of context learns from the policy's replies; `role_baseline`: what is usual for a
  role, taken off
- `alarms`: signs that a policy games its reward; `penalties`: what a reply is paid less for them
- `step_end`: what follows a step in every loop; the one place where gold is asked
- `checkpoint_folders`: folders written whole or not at all
- `rng_state`: a run's random numbers and terminal kept from others, and its shuffled order
- `tracking`: curves for TensorBoard and Weights & Biases
- `tiny_policy`: the small LLaMA that is built on the spot
- `memory_estimate`: how much memory PPO needs (`python -m apportion.rlhf.training.memory_estimate`)
"""
