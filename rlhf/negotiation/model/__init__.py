"""The network of all seeds as one batched model: `network`, `losses` (Eq. 1 and 2), `optimizer`, `player`."""
