import sqlalchemy as sa
from alembic import op

revision, down_revision = "1", None


def upgrade():
    def text(name):
        return sa.Column(name, sa.String(40), nullable=False)

    def parent(name, table):
        return sa.Column(name, sa.Integer, sa.ForeignKey(f"{table}.id"), nullable=False, index=True)

    op.create_table(
        "customer", sa.Column("id", sa.Integer, primary_key=True), text("token"),
        sa.Column("name", sa.String(80), nullable=False), sa.Column("note", sa.Text))
    tags = op.create_table("tag", sa.Column("id", sa.Integer, primary_key=True), text("name"))
    op.bulk_insert(tags, [{"name": f"tag-{number}"} for number in range(1, 6)])
    op.create_table(
        "purchase", sa.Column("id", sa.Integer, primary_key=True), text("token"), text("meant"),
        sa.Column("total", sa.Integer), sa.Column("memo", sa.Text),
        parent("customer_id", "customer"))
    op.create_table(
        "purchase_tags",
        sa.Column("purchase_id", sa.Integer, sa.ForeignKey("purchase.id"), primary_key=True),
        sa.Column("tag_id", sa.Integer, sa.ForeignKey("tag.id"), primary_key=True))
    op.create_table(
        "line", sa.Column("id", sa.Integer, primary_key=True), text("token"), text("meant"),
        sa.Column("quantity", sa.Integer), sa.Column("sku", sa.String(10)),
        parent("purchase_id", "purchase"))
