"""The steps of the night: rows in, decisions out. Pure: nothing here reads, writes or knows the order."""
