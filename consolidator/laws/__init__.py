"""The laws of memory: arithmetic on NumPy arrays. Time is an argument; nothing here reads or writes."""
