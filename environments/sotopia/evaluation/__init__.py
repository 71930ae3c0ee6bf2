"""Who scores a social episode in seven dimensions: SOTOPIA-EVAL (section 3, Appendix D).

From the ground up: `episode` (what a judge reads of a session, as data), `episodes` (those of a corpus), `scores` (the
scores of one person by one judge, failed ones with their cause), `score_file` (those of a corpus), `reply` (what a
model answers), `language_model` (a model as judge), `rated_corpus` (a corpus with further ratings), `human_ratings`
(who rate, on a form or at a terminal), `judging` (from a choice of judges to such a corpus), `pricing` (what that would
cost), `online_judge` (a model as judge of an episode in play). The judge ``rules`` is
`apportion.environments.sotopia.rule_evaluator`.
"""
