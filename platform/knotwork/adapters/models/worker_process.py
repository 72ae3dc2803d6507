"""The program that a worker process runs: calls come in on standard input, answers go out on standard output.

A frame is 8 bytes of length, big-endian, and a pickle. A call is (function, args), the function by reference; an answer
is (True, result) or (False, error). Input that ends means that the parent closed us or died: the process ends at once,
whatever it is computing, so no parent leaves an orphan behind, not even one killed with SIGKILL.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import sys
import threading
from typing import BinaryIO

from knotwork.errors import ModelFailed, PlatformError

HEADER = struct.Struct(">Q")
NICENESS = 10  # the service, which answers queries, goes first
MESSAGE_CHARS = 300  # an error quotes the text it failed on; a log line should not


def main() -> None:
    """Answer calls, one after another, until standard input ends."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    _limit_memory(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not fall between two frames
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_calls, args=(sys.stdin.buffer, calls), daemon=True).start()
    while True:
        frame = _answer(calls.get())
        answers.write(HEADER.pack(len(frame)))
        answers.write(frame)
        answers.flush()


def _limit_memory(bytes_: int) -> None:
    if bytes_ and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))


def _read_calls(source: BinaryIO, calls: queue.SimpleQueue[bytes]) -> None:
    while len(header := source.read(HEADER.size)) == HEADER.size:
        (size,) = HEADER.unpack(header)
        calls.put(source.read(size))
    os._exit(0)  # not sys.exit: the main thread may be deep in a model


def _answer(call: bytes) -> bytes:
    try:
        function, args = pickle.loads(call)  # noqa: S301 - the parent process wrote it
        return pickle.dumps((True, function(*args)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever it is belongs to the caller, and the worker lives on
        return pickle.dumps((False, _portable(error)), pickle.HIGHEST_PROTOCOL)


def _portable(error: Exception) -> PlatformError:
    """An error that the parent can load: a vendor's exception may not survive pickling, or may need the vendor."""
    if isinstance(error, PlatformError):
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except TypeError:  # its constructor takes more than the message
            pass
        else:
            return error
    return ModelFailed(f"a worker failed with {type(error).__name__}: {str(error)[:MESSAGE_CHARS]}")


if __name__ == "__main__":
    main()
