"""GRPO, RLOO and SFT by TRL's trainers, with the policies, rewards, alarms and checkpoints of PPO.

From the ground up:

- `arguments`: our settings in the trainers' words
- `checkpoints`: what a killed training goes on from
- `step_callback`: metrics, alarms, checkpoint and progress after every step
- `running`: how a trainer is run
- `group_reward`: our reward as the trainers call it
- `turn_advantages`: advantages of turns within a group
- `groups`: GRPO and RLOO
- `supervised`: SFT
"""
