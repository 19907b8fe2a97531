"""The front end of Fish Speech 1.5: cleaning and splitting of text, the tokenizer, and prompts of rows. No torch."""
