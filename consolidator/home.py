"""Where things are for a user who says nothing: the store, the settings."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from consolidator.errors import BadInput

if TYPE_CHECKING:
    from consolidator.settings import Settings

STORE_VARIABLE = "CONSOLIDATOR_STORE"
FOLDER = "consolidator"
FILE = "memories.db"


def store_of(settings: "Settings", named: str | None) -> str:
    """The store: the one that is named, else the variable's, else that of the settings, else the user's own."""
    if named is not None:
        return named
    return os.environ.get(STORE_VARIABLE) or settings.store or str(default_store())


def make_room(url: str) -> None:
    """Make the folder of the user's own store, where the URL is of that. BadInput where it cannot be made."""
    if url != str(default_store()):
        return
    folder = default_store().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be made ({error.strerror}); say where with --store") from None


def default_store() -> Path:
    """The store where nobody named one."""
    import platformdirs

    return platformdirs.user_data_path(FOLDER) / FILE


def usual_settings() -> Path:
    """Where settings are looked for that nobody named."""
    import platformdirs

    from consolidator.settings import FILE_NAME

    return platformdirs.user_config_path(FOLDER) / FILE_NAME
