"""Who is alive: a lock on one byte for each process that writes, which the kernel releases when the process ends."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path

_FLOCK = "@hhqqi4x"
"""C ``struct flock`` of 64-bit Linux: type, whence, start, length, process, padding."""


class WriterLocks:
    """Locks of open file descriptions (Linux 3.15) in a file beside the bank.

    Unlike a process id such a lock is never taken for that of another process, and unlike a POSIX lock it also tells
    two banks in one process apart.

    Args:
        path: of the lock file; made if it is missing.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def take(self, number: int) -> None:
        """Say that the writer with this number is alive, until `close` or the end of the process."""
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0))

    def is_alive(self, number: int) -> bool:
        """Return whether another writer holds this number."""
        question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
        try:
            answer = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, question)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return True
            raise
        return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)

    def close(self) -> None:
        """Give the locks back."""
        os.close(self._file)
