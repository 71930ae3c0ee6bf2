"""What people said of several systems' responses: shares and ratings with intervals that can carry them.

From the ground up: `alpha` (do annotators agree), `holm` (many comparisons at once), `answers` (who said what of which
system on which item), `kappa` (does one agree with the others), `two_way_anova` (items and annotators both come again),
`mixed_model` (the same as random effects), `paired` (two systems in the same answers), `proportions` (a system's share,
Table 1's mean and sd over splits), `comparison` (all systems against a base).
"""
