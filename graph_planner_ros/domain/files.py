"""Files that survive a crash in the middle of writing."""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that whoever reads, whenever, sees the old one or the new one and never half of it.

    Args:
        path: keeps its permissions if it is there; a new file has those of any other. A link stays one, and its
            target is written; what is no file, such as /dev/null or a pipe, is written to and not replaced.
        content: a text is UTF-8; half a character is written as JSON and Python escape it.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # what mkstemp makes can be read by its owner only
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@lru_cache(maxsize=1)
def _umask() -> int:
    """Return the process's umask, which can only be read by setting it: once, early, so that no thread sees another."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
