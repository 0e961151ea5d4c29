"""Channels on this machine: a file, standard output."""

import fcntl
import os
import stat
from collections.abc import Callable

from consolidator.instants import SECOND, format_instant
from consolidator.notify.channels import FileChannel
from consolidator.notify.outcome import DELIVERED, Outcome, failed
from consolidator.notify.way import Parcel


def append(channel: FileChannel, parcel: Parcel) -> Outcome:
    """
    Append the message to the file: all of it or nothing, and on the disk when this returns.

    Writers wait for each other. A file that is new is its owner's alone.
    """
    head = f"== {format_instant(parcel.now // SECOND * SECOND)} {parcel.title} [{parcel.key}]"
    data = f"{head}\n{parcel.text}\n\n".encode()
    path = os.path.expanduser(channel.path)
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, ValueError) as error:
        return failed(f"the file cannot be opened: {getattr(error, 'strerror', None) or error}")
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        regular, end = stat.S_ISREG(os.fstat(file).st_mode), os.fstat(file).st_size
        try:
            if os.write(file, data) < len(data):
                raise OSError(0, "the disk is full")
            if regular:
                os.fsync(file)
        except OSError as error:
            if regular:
                os.ftruncate(file, end)
            return failed(f"the file cannot be written: {error.strerror}")
    except OSError as error:
        return failed(f"the file cannot be written: {error.strerror}")
    finally:
        os.close(file)
    return DELIVERED


def print_out(parcel: Parcel, emit: Callable[[str], None]) -> Outcome:
    """Print the message."""
    emit(parcel.text)
    return DELIVERED
