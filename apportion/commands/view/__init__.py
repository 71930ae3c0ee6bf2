"""Commands of the viewer: `view` (a run in the browser, or as files) and `label_serve` and `labels` (what people say of turns)."""
