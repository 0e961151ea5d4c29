"""The service that runs jobs at their times, and what keeps it to once a night."""
