import sqlalchemy as sa
from alembic import op

revision, down_revision = "6", "5"


def upgrade():
    op.create_index("purchase_token", "purchase", ["token"])
    with op.batch_alter_table("customer") as table:
        table.create_unique_constraint("customer_token", ["token"])
