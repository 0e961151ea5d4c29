"""Where memories are kept: the tables, how a store is opened, locked, searched, read and written. No law of memory."""
