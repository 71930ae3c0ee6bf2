"""Commands of the viewer: `view` (a run in the browser), `bundle` (the same pages as files), `labels` (what people said
of turns: merged into a corpus, exchanged with Label Studio)."""
