import sqlalchemy as sa
from alembic import op

revision, down_revision = "4", "3"


def upgrade():
    with op.batch_alter_table("purchase") as table:
        table.drop_column("memo")
