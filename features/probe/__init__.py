"""One media file, looked at before a run: `probe` measures it, `picture` draws what was measured."""
