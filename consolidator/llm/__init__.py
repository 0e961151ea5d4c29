"""Language models: one port, two providers, what asking them may cost. An SDK is imported when it is first needed."""
