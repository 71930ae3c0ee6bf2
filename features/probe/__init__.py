"""One media file, looked at before a run: `probe` measures it, `table` and `picture` show what came of it."""
