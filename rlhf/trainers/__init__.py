"""GRPO, RLOO, RAFT, DPO, KTO and SFT by TRL's trainers, with the policies, rewards, alarms and checkpoints of PPO.

From the ground up: `running` (how a trainer is set and run), `group_advantages` (our reward as the trainers call it,
and advantages of turns), `grpo_rloo` (GRPO, RLOO and RAFT), `supervised` (SFT), `preferences` (DPO, KTO);
`turn_credit` is TRL's GRPO with our credit, for others' code.
"""
