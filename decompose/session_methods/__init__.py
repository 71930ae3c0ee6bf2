"""Methods to which one session is enough: an episode in, a judgement of each of its target's turns out.

From the ground up: `llm_requests` (what a method asks a language model first, listed), `runner` (a whole session, and
what a method's code has to be), `planned_rollouts` (what a method would play on, listed), the methods `uniform`,
`episode_score`, `sentiment`, `affect`, `intensity`, `llm`, `dimensions` (Sotopia-RL over several ratings) and `savoir`
(credit by playing on, six ways), and `exact_labels` (what it gives where everything can be played).
"""
