"""What says the same thing: candidates, what must not be lost, and the proof that nothing was. Pure, no I/O."""
