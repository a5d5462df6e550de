import sqlalchemy as sa
from alembic import op

revision, down_revision = "7", "6"


def upgrade():
    op.create_table(
        "visit", sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token", sa.String(40), nullable=False),
        sa.Column("meant", sa.String(40), nullable=False),
        sa.Column("customer_id", sa.Integer, sa.ForeignKey("customer.id"), nullable=False))
