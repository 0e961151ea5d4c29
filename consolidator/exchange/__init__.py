"""The exchange format: memories and their history as lines of JSON, read, taken in and written."""
