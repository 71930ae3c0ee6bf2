"""In which language people talk: `names` writes languages and reads them, `identifier` tells one by its words,
`settling` gives every session of a corpus its own."""
