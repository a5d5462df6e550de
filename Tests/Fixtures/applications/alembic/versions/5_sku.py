import sqlalchemy as sa
from alembic import op

revision, down_revision = "5", "4"


def upgrade():
    op.execute("UPDATE line SET sku = '' WHERE sku IS NULL")
    with op.batch_alter_table("line") as table:
        table.alter_column("sku", type_=sa.String(20), nullable=False, server_default="")
