"""Worker processes for models that compute on this machine: they hold the interpreter, so threads would not do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import structlog

from knotwork.adapters.models import worker_process
from knotwork.errors import InvalidInput, ModelFailed

Args = TypeVarTuple("Args")
Result = TypeVar("Result")

log = structlog.get_logger(__name__)

DEFAULT_WORKERS = 2  # at most
ATTEMPTS = 2  # at a call whose process died
EXIT_GRACE_S = 2.0
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


class WorkerPool:
    """Runs functions in up to `size` child processes, each call in one that does nothing else meanwhile.

    Processes start when they are needed and stay, so each loads a model once. One that dies harms only the call it was
    at; a call that takes too long or is cancelled is ended by killing its process. They end with this process, however
    it ends. Waiting calls are served in the order of their arrival. A pool belongs to one event loop.

    Not concurrent.futures.ProcessPoolExecutor: there one death fails every waiting call, and a call cannot be ended.
    """

    def __init__(self, size: int = 0, *, memory_bytes: int = 0) -> None:
        """Make a pool. No process is started yet.

        Args:
            size: Processes; 0: one a core, two at most.
            memory_bytes: Address space of each, beyond which a call fails; 0: no limit. Not kept on Windows.
        """
        self._memory_bytes = memory_bytes
        self.size = size if size > 0 else min(DEFAULT_WORKERS, os.cpu_count() or 1)
        self._turns = asyncio.Semaphore(self.size)
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    async def run(self, function: Callable[[*Args], Result], *args: *Args, timeout_s: float | None = None) -> Result:
        """Call a module-level function with picklable arguments in a worker, and return what it returns.

        Args:
            function: Picklable by reference; it runs with one thread for each numeric library, at low priority.
            args: Its arguments.
            timeout_s: Seconds the call itself may take, waiting for a free worker not counted; None: no limit.
        Raises:
            ModelFailed: the worker died twice under this call, it took too long, it failed with an error that is not
                the platform's, or the pool is closed.
            InvalidInput: an argument is nested deeper than can be handed over, some hundred levels.
            PlatformError: raised by the function.
        """
        try:
            call = pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
        except RecursionError as error:
            raise InvalidInput("what was given is nested too deeply; make it flatter") from error
        name = function.__name__
        async with self._turns:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    async with asyncio.timeout(timeout_s):
                        answer = await self._call(call)
                except WorkerDied as death:
                    if self._closed:
                        break
                    log.warning("worker_died", function=name, attempt=attempt, exit_code=death.exit_code)
                except TimeoutError:
                    raise ModelFailed(f"{name} took over {timeout_s} s and was ended") from None
                else:
                    # Of the two forms below, only this process's own child wrote either.
                    succeeded, value = pickle.loads(answer)  # noqa: S301
                    if succeeded:
                        return value
                    raise value
        if self._closed:
            raise ModelFailed(f"{name} was not finished: the worker pool is closed")
        raise ModelFailed(f"{name} ended its worker process {ATTEMPTS} times; memory may be short, see the log")

    async def close(self) -> None:
        """End all processes; calls under way or waiting fail with ModelFailed. Returns when the processes are gone."""
        self._closed = True
        await asyncio.gather(*(worker.close() for worker in (*self._idle, *self._busy)))
        self._idle.clear()
        for _ in range(self.size):  # every turn is back: no call is left that could hold a process
            await self._turns.acquire()
        for _ in range(self.size):
            self._turns.release()

    async def _call(self, call: bytes) -> bytes:
        """Send a call to an idle worker or a new one; a worker that did not answer is ended."""
        worker = self._idle.pop() if self._idle else await _Worker.start(self._memory_bytes)
        if self._closed:  # while it started
            await worker.kill()
            raise WorkerDied(None)
        self._busy.add(worker)
        try:
            answer = await worker.call(call)
        except BaseException:  # also when cancelled: it is in the midst of a call nobody waits for
            await worker.kill()
            raise
        finally:
            self._busy.discard(worker)
        self._idle.append(worker)
        return answer


class WorkerDied(Exception):
    """The process ended before it answered."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"a worker process ended with {exit_code}")
        self.exit_code = exit_code


class _Worker:
    """One child process and its two pipes."""

    def __init__(
        self, process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader
    ) -> None:
        self._process, self._stdin, self._stdout = process, stdin, stdout

    @classmethod
    async def start(cls, memory_bytes: int) -> _Worker:
        """Start a process that finds the modules this one finds, and none of its settings: those hold keys."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KNOTWORK_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # a file of the working folder must not pass for a module
            "-m",
            worker_process.__name__,
            str(memory_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=kept | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,  # Ctrl-C at the terminal is for the service, which closes the pool in order
        )
        if process.stdin is None or process.stdout is None:
            raise AssertionError  # both are pipes, as asked for
        return cls(process, process.stdin, process.stdout)

    async def call(self, call: bytes) -> bytes:
        header = worker_process.HEADER
        try:
            self._stdin.write(header.pack(len(call)) + call)
            await self._stdin.drain()
            (size,) = header.unpack(await self._stdout.readexactly(header.size))
            return await self._stdout.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerDied(await self._process.wait()) from None

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def close(self) -> None:
        """Ask the process to end, by the end of its input; kill it when it does not."""
        self._stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_GRACE_S):
                await self._process.wait()
        await self.kill()
