"""The model of all seeds: `recurrent` and `products` (with their gradients), `network` (what is read), `player`."""
