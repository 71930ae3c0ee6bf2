"""One media file, looked at before a run: `probe` measures it and prints a table, `picture` draws it."""
