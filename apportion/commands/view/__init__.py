"""Commands of the viewer: `view` (a run in the browser, or as files); `label_serve`, `labels` (what people say of turns)."""
