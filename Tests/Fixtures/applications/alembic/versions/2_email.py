import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"


def upgrade():
    with op.batch_alter_table("customer") as table:
        table.add_column(sa.Column("email", sa.String(80), nullable=False, server_default=""))
