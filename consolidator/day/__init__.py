"""The day: what an agent remembers, recalls and rates, and the record of it that the night replays."""
