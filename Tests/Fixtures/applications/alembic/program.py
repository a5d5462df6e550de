#!/usr/bin/env python3
"""A shop made with SQLAlchemy and Alembic.

usage: program.py migrate STEP | write SITE LOG STOP PAUSE
"""
import contextlib
import os
import sys

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from writer import Log, Writer


def engine(foreign_keys):
    made = sa.create_engine("sqlite:///site.db", connect_args={"timeout": 5})

    @sa.event.listens_for(made, "connect")
    def connected(connection, _):
        connection.isolation_level = None
        connection.execute(f"PRAGMA foreign_keys = {foreign_keys}")

    @sa.event.listens_for(made, "begin")
    def begin(connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return made


class Shop:
    def __init__(self):
        self.engine = engine("ON")
        self.reload()

    def reload(self):
        self.engine.dispose()
        meta = sa.MetaData()
        meta.reflect(self.engine, only=lambda name, _: not name.startswith("_"))
        self.tables = meta.tables

    def is_stale(self, error):
        text = str(error)
        return isinstance(error, sa.exc.DBAPIError) and (
            "no such" in text or "has no column" in text or "NOT NULL" in text)

    def is_absent(self, error):
        return isinstance(error, sa.exc.NoResultFound)

    def has(self, table, column):
        return table in self.tables and column in self.tables[table].c

    def demands_sku(self):
        return not self.tables["line"].c.sku.nullable

    @contextlib.contextmanager
    def transaction(self):
        with self.engine.begin() as self.connection:
            yield

    def pk(self, table, token):
        rows = self.tables[table]
        return self.connection.execute(
            sa.select(rows.c.id).where(rows.c.token == token)).scalar_one()

    def insert(self, table, values):
        self.connection.execute(sa.insert(self.tables[table]).values(values))

    def update(self, table, token, values):
        rows, key = self.tables[table], self.pk(table, token)
        self.connection.execute(sa.update(rows).where(rows.c.id == key).values(values))

    def delete(self, table, token):
        rows, key = self.tables[table], self.pk(table, token)
        self.connection.execute(sa.delete(rows).where(rows.c.id == key))

    def tag(self, purchase, tag):
        links, tags = self.tables["purchase_tags"], self.tables["tag"]
        found = self.connection.execute(sa.select(tags.c.id).where(tags.c.name == tag)).scalar_one()
        values = {"purchase_id": self.pk("purchase", purchase), "tag_id": found}
        self.connection.execute(sa.insert(links).values(values))

    def strangers(self, site):
        rows = self.tables["customer"]
        found = self.connection.execute(
            sa.select(rows.c.token).where(sa.not_(rows.c.token.startswith(site)))
            .order_by(rows.c.id.desc()).limit(20))
        return list(found.scalars())


def migrate(step):
    settings = Config()
    settings.set_main_option("script_location", HERE)
    settings.attributes["engine"] = engine("OFF")
    command.upgrade(settings, step)


if sys.argv[1] == "migrate":
    migrate(sys.argv[2])
else:
    site, log, stop, pause = sys.argv[2:]
    Writer(Shop(), site, Log(log)).work(stop, float(pause))
