"""The phoneme front end: text as people and agents write it, to rows of phonemes with the words they belong to."""
