"""Other systems' stores: read as records of the exchange format."""
