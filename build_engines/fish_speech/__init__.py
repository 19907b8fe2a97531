"""Fish Speech 1.5: its checkpoint, its talker and its codec as torch modules, and the bundle made of them."""
