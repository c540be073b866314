"""The server's end of the pipe to an engine's process: JSON lines in, JSON lines out. Standard library only.

Imported by the server scripts beside it, which run in the Python environments of their engines and know nothing of
this package::

    from channel import serve     # before anything of the engine: from here on, prints go to stderr
    serve(Handler)                # imports the engine when it is called

Every request is an object with ``do``, the name of one of the handler's methods without the leading ``do_``, and its
keyword arguments; every answer is the object that the method returns, or ``{"error": sentence}``. The first line
that the server writes is ``{"ready": true}``, once the handler exists.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

# a server that is called like the package of its engine must not hide it
_HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]

_LOOK_SECONDS = 1.0


def _take_stdout() -> BinaryIO:
    """Return the real standard output for the protocol alone; whatever else is printed goes to stderr."""
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(kept, "wb", buffering=0)


_OUT = _take_stdout()


def _end_with_parent(parent: int) -> None:
    """End this process and its group when the parent is gone, even if the engine hangs."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL) if os.getpgid(0) == os.getpid() else None
    os._exit(1)


def _send(answer: dict[str, Any]) -> None:
    line = memoryview((json.dumps(answer) + "\n").encode())
    while line:
        line = line[_OUT.write(line) :]


def serve(make: Callable[[], Any]) -> None:
    """Answer requests until standard input is closed.

    Args:
        make: returns the handler; called after the pipe is set up.
    """
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        handler = make()
    except BaseException as error:  # the other side is told, whatever it was
        traceback.print_exc()
        _send({"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)
    _send({"ready": True})
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
            answer = getattr(handler, "do_" + request.pop("do"))(**request)
        except Exception as error:  # an engine may raise anything; it is an answer
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        _send(answer)
