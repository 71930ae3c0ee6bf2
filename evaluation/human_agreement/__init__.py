"""What people said of several systems' responses: shares and ratings with intervals that can carry them.

From the ground up: `answers` (who said what of which system on which item), `reliability` (do annotators agree: alpha,
kappa), `two_way_anova` (items and annotators both come again), `mixed_model` (the same as random effects), `paired`
(two systems in the same answers, many comparisons at once), `proportions` (a system's share, Table 1's mean and sd over
splits), `comparison` (all systems against a base). It needs the extra `study` (krippendorff, statsmodels).
"""
