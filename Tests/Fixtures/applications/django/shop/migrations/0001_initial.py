from django.db import migrations, models


def tags(apps, editor):
    if not apps.get_model("shop", "Tag").objects.exists():
        for number in range(1, 6):
            apps.get_model("shop", "Tag").objects.create(name=f"tag-{number}")


def text(**options):
    return models.CharField(max_length=40, **options)


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel(
            "Customer",
            [("id", models.AutoField(primary_key=True)), ("token", text()),
             ("name", models.CharField(max_length=80)), ("note", models.TextField())],
            options={"db_table": "customer"}),
        migrations.CreateModel(
            "Tag", [("id", models.AutoField(primary_key=True)), ("name", text())],
            options={"db_table": "tag"}),
        migrations.CreateModel(
            "Purchase",
            [("id", models.AutoField(primary_key=True)), ("token", text()), ("meant", text()),
             ("total", models.IntegerField(default=0)), ("memo", models.TextField(default="")),
             ("customer", models.ForeignKey("shop.Customer", models.CASCADE)),
             ("tags", models.ManyToManyField("shop.Tag", db_table="purchase_tags"))],
            options={"db_table": "purchase"}),
        migrations.CreateModel(
            "Line",
            [("id", models.AutoField(primary_key=True)), ("token", text()), ("meant", text()),
             ("quantity", models.IntegerField(default=1)),
             ("sku", models.CharField(max_length=10, null=True)),
             ("purchase", models.ForeignKey("shop.Purchase", models.CASCADE))],
            options={"db_table": "line"}),
        migrations.RunPython(tags),
    ]
