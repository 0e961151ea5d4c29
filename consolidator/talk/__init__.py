"""What people and agents say that is nothing to remember or to look up; the words of each language lie in `words`."""
