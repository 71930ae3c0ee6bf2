"""Does a judge say the same when it is asked otherwise? `rank_stability` (how far the turns keep their order)."""
