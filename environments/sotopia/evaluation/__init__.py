"""Who scores a social episode in seven dimensions: SOTOPIA-EVAL (section 3, Appendix D).

From the ground up: `episodes` (what a judge reads of a session, as data; those of a corpus), `scores` (the scores of
one person by one judge, failed ones with their cause; those of a corpus), `language_model` (a model as judge, and what
it answers), `rated_corpus` (a corpus with further ratings), `human_ratings` (who rate, on a form or at a terminal),
`judging` (from a choice of judges to such a corpus, and what that would cost), `online_judge` (a model as judge of an
episode in play). The judge ``rules`` is `apportion.environments.sotopia.rule_evaluator`.
"""
