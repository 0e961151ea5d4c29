"""
Settings: every number has a name, bounds and a home; a bad one is refused with its path.

A file is YAML 1.2, so `no` stays a word. Unknown keys are refused and the nearest known one is named.
"""

from consolidator.settings.kinds import LEVELS, ChannelName, Level
from consolidator.settings.model import FILE_NAME, Budget, Day, Embedding, Merge, Price, Rates, Settings
from consolidator.settings.reading import Reading, load_settings, parse_settings, read_settings

__all__ = [
    "FILE_NAME",
    "LEVELS",
    "Budget",
    "ChannelName",
    "Day",
    "Embedding",
    "Level",
    "Merge",
    "Price",
    "Rates",
    "Reading",
    "Settings",
    "load_settings",
    "parse_settings",
    "read_settings",
]
