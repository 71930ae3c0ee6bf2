"""GRPO, RLOO and SFT by TRL's trainers, with the policies, rewards, alarms and checkpoints of PPO.

From the ground up: `arguments` (our settings in the trainers' words), `running` (checkpoints, metrics, alarms and
progress after every step, and how a trainer is run), `group_reward` (our reward as the trainers call it, and advantages
of turns), `groups` (GRPO and RLOO), `supervised` (SFT).
"""
