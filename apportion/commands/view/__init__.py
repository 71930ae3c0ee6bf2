"""Commands of the viewer: `view` (a run in the browser, or as files) and `labels` (what people said of turns)."""
