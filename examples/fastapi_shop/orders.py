"""The orders: rows of the shop's own tables, by SQLAlchemy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from . import settings

__all__ = ["Customer", "Mail", "Order", "database", "hand_over", "record_mail", "session", "set_status"]


class _Base(DeclarativeBase):
    pass


class Order(_Base):
    """One order."""

    __tablename__ = "shop_orders"
    id: Mapped[str] = mapped_column(primary_key=True)
    item: Mapped[str]
    email: Mapped[str]
    status: Mapped[str] = mapped_column(default="placed")


class Mail(_Base):
    """An email that was sent. Its key is the order, so that an attempt that is repeated after a crash sends no second one."""

    __tablename__ = "shop_mails"
    order_id: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]


class Customer(_Base):
    """A customer who has got parcels, and how many."""

    __tablename__ = "shop_customers"
    email: Mapped[str] = mapped_column(primary_key=True)
    parcels: Mapped[int]


#: Opens sessions while the lifespan of `database` runs.
session: async_sessionmaker[AsyncSession] = async_sessionmaker(expire_on_commit=False)


@asynccontextmanager
async def database(app: Any = None) -> AsyncIterator[None]:
    """Connect to the database, and make the tables: a lifespan."""
    # A file has one writer at a time, and the jobs write, too: wait for them longer than the 5 s of sqlite3.
    options = {"timeout": 30} if settings.DATABASE.startswith("sqlite") else {}
    engine: AsyncEngine = create_async_engine(settings.DATABASE, connect_args=options)
    async with engine.begin() as connection:
        await connection.run_sync(_Base.metadata.create_all)
    session.configure(bind=engine)
    try:
        yield
    finally:
        await engine.dispose()


async def set_status(order: str, status: str) -> None:
    """Write how far an order is. Writing it twice changes nothing."""
    async with session.begin() as db:
        await db.execute(update(Order).where(Order.id == order).values(status=status))


def _insert(table: type[_Base]) -> Any:
    """An INSERT that may have an ON CONFLICT."""
    return (sqlite if settings.DATABASE.startswith("sqlite") else postgresql).insert(table)


async def record_mail(order: str, text: str) -> None:
    """Record an email, once for each order."""
    async with session.begin() as db:
        await db.execute(_insert(Mail).values(order_id=order, text=text).on_conflict_do_nothing())


async def hand_over(db: AsyncSession, order: str) -> int:
    """Give the parcel to the courier, in the transaction of the caller; return how many parcels the customer has got."""
    found = await db.get_one(Order, order)
    found.status = "shipped"
    counted = _insert(Customer).values(email=found.email, parcels=1)
    counted = counted.on_conflict_do_update(index_elements=[Customer.email], set_={"parcels": Customer.parcels + 1})
    parcels: int = (await db.execute(counted.returning(Customer.parcels))).scalar_one()
    return parcels
