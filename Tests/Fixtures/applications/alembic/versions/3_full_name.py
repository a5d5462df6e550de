import sqlalchemy as sa
from alembic import op

revision, down_revision = "3", "2"


def upgrade():
    with op.batch_alter_table("customer") as table:
        table.alter_column("name", new_column_name="full_name")
