"""The service's log: JSON lines in a file of bounded size."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog

FILE_BYTES = 10 * 1024 * 1024
KEPT_FILES = 4  # beside the one that is written to

STAMPS: tuple[structlog.typing.Processor, ...] = (
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,  # without the values of variables: they may be secret
)


@contextmanager
def log_to(path: Path, *, level: int = logging.INFO) -> Generator[None]:
    """Send what this process logs to `path` while the block runs; vendors' loggers from warnings up."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=KEPT_FILES, encoding="utf-8")
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=STAMPS,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=True),
            ],
        )
    )
    root, ours = logging.getLogger(), logging.getLogger("knotwork")
    before, level_before = structlog.get_config(), ours.level
    ours.setLevel(level)
    root.addHandler(handler)
    structlog.configure(
        processors=[*STAMPS, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=_logger,
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)
        root.removeHandler(handler)
        ours.setLevel(level_before)
        handler.close()


def _logger(*names: str) -> logging.Logger:
    """A logger below ours, so that one level holds for all; the default name is the package's."""
    return logging.getLogger(names[0] if names else "knotwork")
