"""A shop on FastAPI: orders in a database, and what happens to them as durable workflows and jobs.

It needs the extra ``fastapi``, SQLAlchemy, and a driver: aiosqlite for a file, asyncpg for PostgreSQL (``docs/examples.md``). From the
folder ``examples``::

    uvicorn fastapi_shop.app:app                               # the pages, and a worker in the same process
    SHOP_WORKER=0 uvicorn fastapi_shop.app:app --workers 4     # the pages alone, in four processes
    python -m fastapi_shop.worker                              # a worker in a process of its own

It runs on the file ``shop.db``, or on PostgreSQL: ``SHOP_STORE=postgresql://user@host/database``.
"""
