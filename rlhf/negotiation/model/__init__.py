"""The model of all seeds: `packing`, `recurrent`, `products` (with gradients), `network`, `player`, `one_game`."""
