"""The model of all seeds: `recurrent` (a GRU and its gradient), `network` (what is read), `player` (at play)."""
