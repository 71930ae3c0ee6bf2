"""What people said of several systems' responses: shares and ratings with intervals that can carry them.

From the ground up: `alpha` (do annotators agree), `holm` (many comparisons at once), `answers` (who said what of which
system on which item), `two_way` (items and annotators both come again), `paired` (two systems in the same answers),
`shares` (a system's share, Table 1's mean and sd over splits), `comparison` (all systems against a base).
"""
