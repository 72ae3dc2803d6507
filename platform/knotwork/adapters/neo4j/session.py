"""Managed transactions over the driver, with the vendor's errors turned into ours at this border."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, LiteralString, TypeVar, cast

import neo4j
from neo4j import exceptions as vendor

from knotwork.adapters.neo4j.availability import ONCE, Availability
from knotwork.adapters.neo4j.statements import schema_statements, statement
from knotwork.errors import PlatformError, SetupFailed, StoreUnavailable

T = TypeVar("T")
Row = Mapping[str, Any]

BATCH_ROWS = 5_000  # rows a statement: batches of 5,000 to 20,000 were measured fastest, the smaller keeps heap low
MADE_MEANWHILE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
RETRY_S = 60.0  # how long the driver repeats a write that met a deadlock or a lost connection
READ_RETRY_S = 0.7  # a read: three or four attempts within 2 s; whoever can wait longer asks again
FIRST_DELAY_S = 0.25  # before the driver's second attempt; it doubles
CONNECT_S = 5.0  # a server that takes longer to greet counts as away


class Transaction:
    """One open transaction that runs statements by name."""

    def __init__(self, tx: neo4j.AsyncManagedTransaction) -> None:
        self._tx = tx

    async def rows(self, name: str, **parameters: object) -> list[Row]:
        """Run a statement and return its rows.

        A statement that may have many rows gives them as one list, `rows`: the driver waits twice on its socket for
        each record, which cost 0.15 ms a row and more than Neo4j's own work on them.
        """
        # LiteralString guards against statements made of values; ours come from files shipped with the code.
        result = await self._tx.run(cast("LiteralString", statement(name)), parameters)
        keys = list(result.keys())
        found: list[Row] = [dict(zip(keys, record.values(), strict=True)) async for record in result]
        return found[0]["rows"] if keys == ["rows"] else found

    async def rows_of(self, name: str, batch: str, values: Sequence[object], **parameters: object) -> list[Row]:
        """Run a statement on `values` in batches, given as parameter `batch`; all rows, in order."""
        found: list[Row] = []
        for start in range(0, len(values), BATCH_ROWS):
            found += await self.rows(name, **{batch: values[start : start + BATCH_ROWS]}, **parameters)
        return found


class Neo4jSession:
    """Runs work in managed transactions of one database. Whoever opened the driver closes it."""

    def __init__(self, driver: neo4j.AsyncDriver, *, database: str = "neo4j") -> None:
        self._driver = driver
        self._database = database
        self._availability = Availability()
        # One chain of bookmarks: on a cluster, too, a read sees what an earlier call of this process wrote.
        self._bookmarks = neo4j.AsyncGraphDatabase.bookmark_manager()

    def _open(self, retry_s: float = RETRY_S) -> neo4j.AsyncSession:
        return self._driver.session(
            database=self._database,
            bookmark_manager=self._bookmarks,
            max_transaction_retry_time=retry_s,
            initial_retry_delay=FIRST_DELAY_S,
        )

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run `work` in a read transaction; it may be run again after a transient error.

        Raises:
            StoreUnavailable: after 2 s at most, and at once while the server is known to be away.
        """

        async def run(tx: neo4j.AsyncManagedTransaction) -> T:
            return await work(Transaction(tx))

        with self._repeating(READ_RETRY_S) as retry_s:
            async with self._open(retry_s) as session:
                return await session.execute_read(run)

    @asynccontextmanager
    async def read_once(self, *, timeout_s: float, fetch_size: int = 1000) -> AsyncGenerator[neo4j.AsyncTransaction]:
        """One transaction that the server lets read only, and ends after `timeout_s`; it is not tried again.

        Errors of the statement stay the vendor's; a server that is away is StoreUnavailable, as everywhere.
        """
        with self._repeating(READ_RETRY_S):
            async with (
                self._driver.session(
                    database=self._database,
                    bookmark_manager=self._bookmarks,
                    default_access_mode=neo4j.READ_ACCESS,
                    fetch_size=fetch_size,
                ) as session,
                await session.begin_transaction(timeout=timeout_s) as tx,
            ):
                yield tx

    async def write(self, work: Callable[[Transaction], Awaitable[T]], *, retry_s: float = RETRY_S) -> T:
        """Run `work` in a write transaction, all or nothing; it may be run again, for `retry_s`, on a transient error.

        With less than the usual patience it does not wait at all for a server that is known to be away.
        """

        async def run(tx: neo4j.AsyncManagedTransaction) -> T:
            return await work(Transaction(tx))

        with self._repeating(retry_s) as granted_s:
            async with self._open(granted_s) as session:
                return await session.execute_write(run)

    @asynccontextmanager
    async def holding(self, name: str, **parameters: object) -> AsyncGenerator[list[Row]]:
        """Run one statement, and keep the locks that it took until the end of the block; nothing it wrote stays.

        The server itself lets go of them when this process ends, however it does.
        """
        async with AsyncExitStack() as opened:
            with self._repeating(RETRY_S):
                session = await opened.enter_async_context(self._open())
                tx = await session.begin_transaction()
                opened.push_async_callback(_let_go, tx)
                rows = await Transaction(cast("neo4j.AsyncManagedTransaction", tx)).rows(name, **parameters)
            yield rows

    @contextmanager
    def _repeating(self, wanted_s: float) -> Generator[float]:
        """How long to repeat a call; whether it reached the server is remembered.

        Raises:
            StoreUnavailable: the server is away, and the caller is one that somebody waits for.
        """
        if wanted_s < RETRY_S and self._availability.is_away:
            self._availability.begin_probe()
            wanted_s = ONCE
        with store_errors():
            try:
                yield wanted_s
            except (vendor.ServiceUnavailable, vendor.SessionExpired):
                self._availability.failed()
                raise
            except (vendor.Neo4jError, PlatformError):  # refused by the server, or by the work that had its answer
                self._availability.answered()
                raise
            self._availability.answered()

    async def rows(self, name: str, **parameters: object) -> list[Row]:
        """Run one reading statement."""
        return await self.read(lambda tx: tx.rows(name, **parameters))

    async def stream(self, name: str, **parameters: object) -> AsyncGenerator[Row]:
        """Run one reading statement and give its rows as they come, however many; an error is not retried."""
        with store_errors():
            async with self._open() as session:
                result = await session.run(cast("LiteralString", statement(name)), parameters)
                keys = result.keys()
                async for record in result:
                    yield dict(zip(keys, record.values(), strict=True))

    def forget_bookmarks(self) -> None:
        """Start anew with a database whose transactions are counted from the beginning again."""
        self._bookmarks = neo4j.AsyncGraphDatabase.bookmark_manager()

    async def execute(self, name: str, **parameters: object) -> list[Row]:
        """Run one writing statement."""
        return await self.write(lambda tx: tx.rows(name, **parameters))

    async def apply_schema(self) -> None:
        """Create constraints and indexes, safe to repeat and safe when several processes start together."""
        for text in schema_statements():

            async def run(tx: neo4j.AsyncManagedTransaction, text: str = text) -> None:
                await (await tx.run(cast("LiteralString", text))).consume()

            try:
                with store_errors():
                    async with self._open() as session:
                        await session.execute_write(run)
            except vendor.ClientError as error:
                if error.code != MADE_MEANWHILE:  # IF NOT EXISTS does not see what another process is just making
                    raise


async def _let_go(tx: neo4j.AsyncTransaction) -> None:
    """Roll back; where the connection is lost, the server has."""
    with suppress(vendor.Neo4jError, vendor.DriverError):
        await tx.close()


def open_driver(uri: str, user: str, password: str) -> neo4j.AsyncDriver:
    """A driver for one Neo4j; it connects when first used."""
    try:
        return neo4j.AsyncGraphDatabase.driver(
            uri,
            auth=(user, password),
            max_transaction_retry_time=RETRY_S,
            connection_acquisition_timeout=RETRY_S,
            connection_timeout=CONNECT_S,
            notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
        )
    except vendor.ConfigurationError as error:
        raise SetupFailed(
            f"Neo4j's address is not usable: {error}; set KNOTWORK_NEO4J_URI, e.g. bolt://host:7687"
        ) from error


@contextmanager
def store_errors() -> Generator[None]:
    """Turn errors of the driver into ours; programming errors (wrong Cypher) stay as they are."""
    try:
        yield
    except vendor.AuthError as error:
        raise SetupFailed(
            "Neo4j refuses the login; set KNOTWORK_NEO4J_USER and KNOTWORK_NEO4J_PASSWORD to those of your server"
        ) from error
    except (vendor.ServiceUnavailable, vendor.SessionExpired, vendor.TransientError, vendor.DriverError) as error:
        raise StoreUnavailable("Neo4j", type(error).__name__) from error
    except vendor.DatabaseError as error:
        raise StoreUnavailable("Neo4j", error.code or type(error).__name__) from error
