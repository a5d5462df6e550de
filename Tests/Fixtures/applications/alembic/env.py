"""Runs the migrations as the pages of SQLAlchemy advise for SQLite: in one transaction each."""
from alembic import context

with context.config.attributes["engine"].connect() as connection:
    context.configure(
        connection=connection, transaction_per_migration=True, transactional_ddl=True,
        render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
