"""Tables and figures of SOTOPIA from episodes with ratings, and tasks that are hard by section 7's rule.

From the ground up: `statistics` (correlation, t-test, kappa), `episode_scores` (who played and how that was rated),
`raters` (which annotators are judges, which are people), `judge_human_agreement` (Table 1, Figure 2, Tables G.1, G.2,
E.1, Figures G.1 to G.3), `models` (Table 2, Figure 3, Table G.3, Figures G.4, G.5), `people_playing` (Tables 3, G.4,
words a turn), `report` (all of them), `social_methods` (what papers compare, and how it is made), `policies`,
`preference` (Table 1 and Figures 6 to 8, Figure 9 of SAVOIR), `hard_tasks` (section 7's rule, and the tasks that it
chooses, to be played).
"""
