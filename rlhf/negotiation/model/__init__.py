"""The model of all seeds: `recurrent`, `products` (with their gradients), `packing`, `network`, `player`; `one_game`."""
