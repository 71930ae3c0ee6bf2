"""What is learnt on some corpora for others: `reactions` (`apportion train reactions`)."""
