"""The prompt of the judge that compares two replies."""
