"""Messages: what the night tells its person, and how it gets there."""
