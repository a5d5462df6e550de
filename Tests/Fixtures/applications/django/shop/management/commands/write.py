"""Writes through the models as they were after the migrations that this file has seen."""
import os
import sys

from django.core.exceptions import ObjectDoesNotExist
from django.core.management.base import BaseCommand
from django.db import OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../.."))
from writer import Log, Writer


class Shop:
    def __init__(self):
        self.reload()

    def reload(self):
        """The models of the newest migration that was applied to this file."""
        executor = MigrationExecutor(connection)
        names = sorted(n for app, n in executor.loader.applied_migrations if app == "shop")
        state = executor.loader.project_state([("shop", names[-1])]).apps
        models = [m for m in state.get_models() if m._meta.app_label == "shop"]
        self.models = {model._meta.db_table: model for model in models}

    def is_stale(self, error):
        return isinstance(error, OperationalError) and "no such" in str(error) or (
            "has no column" in str(error) or "NOT NULL" in str(error))

    def is_absent(self, error):
        return isinstance(error, ObjectDoesNotExist)

    def has(self, table, column):
        model = self.models.get(table)
        return model is not None and any(f.column == column for f in model._meta.fields)

    def demands_sku(self):
        return not self.models["line"]._meta.get_field("sku").null

    def transaction(self):
        return transaction.atomic()

    def pk(self, table, token):
        return self.models[table].objects.values_list("pk", flat=True).get(token=token)

    def insert(self, table, values):
        self.models[table].objects.create(**values)

    def update(self, table, token, values):
        try:
            row = self.models[table].objects.get(token=token)
        except ObjectDoesNotExist as error:
            raise ObjectDoesNotExist(f"{table} {token}") from error
        for name, value in values.items():
            setattr(row, name, value)
        row.save()

    def delete(self, table, token):
        self.models[table].objects.get(token=token).delete()

    def tag(self, purchase, tag):
        row = self.models["purchase"].objects.get(token=purchase)
        row.tags.add(self.models["tag"].objects.get(name=tag))

    def strangers(self, site):
        rows = self.models["customer"].objects.exclude(token__startswith=site)
        return list(rows.order_by("-pk").values_list("token", flat=True)[:20])


class Command(BaseCommand):
    def add_arguments(self, parser):
        for name in ("site", "log", "stop"):
            parser.add_argument(name)
        parser.add_argument("pause", type=float)

    def handle(self, site, log, stop, pause, **_):
        Writer(Shop(), site, Log(log)).work(stop, pause)
