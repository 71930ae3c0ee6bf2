"""Two seats share out books, hats and balls by a dialogue (Kwon et al., 2021; Deal or No Deal, Lewis et al., 2017).

From the ground up:

- `contexts` (what is shared, what it is worth to each), `action_encoding` (an act as a number), `pareto` (every deal,
exactly),
- `rules` (what is legal when, and the points),
- `realization` (acts in words), `act_parser` (words, or a negotiation of people, to acts),
- `observation` (what a seat reads), `game` (the environment),
- `scripts`, `vectorized` (many games at once, as arrays),
- `language_model`, `llm_realization` (a script in a language model's words) and `agents` (who can play),
- `pairing` (every pair of agents plays every task), `simulation` (from a choice to a corpus, whose sessions are played
  on),
- `casino` (the same about food, water and firewood), `bargaining` (about a price instead),
- `text_rendering` (what a person at a terminal reads), `expert_queries` (people answer what a learner asks),
- `human_study` (people negotiate with agents and say what they think of them).
"""
