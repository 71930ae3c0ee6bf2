"""The Stackelberg Speaker (Zhang et al.): a Refiner learns words that move whoever speaks next.

From the ground up:

- `questions` (the prompts of Figures 6 to 9, in `prompts/`)
- `instances/` (section 3.1 and 3.2): speeches with a follower, and what their leaders want to hear
- `dialogues` (instances as what a policy answers), `settings` (a training as a file, and the reward's)
- `reward` (Eq. 5 and its variants, what an alignment scores by)
- `refiner` (Eq. 3 in play, and ``NAME+refiner``)
- `latent_reward` (LSPO's preferences: the reward ``lspo``)
- `validation` (the reward on turns that were not learned from), `training` (3.4)
- `persuasion_eval/` (Table 6): what followers answer, compared with what was wanted

What this may not be used for: docs/explanations/stackelberg.md.
"""
