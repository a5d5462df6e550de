from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0006_indexes")]
    operations = [
        migrations.CreateModel(
            "Visit",
            [("id", models.AutoField(primary_key=True)),
             ("token", models.CharField(max_length=40)),
             ("meant", models.CharField(max_length=40)),
             ("customer", models.ForeignKey("shop.Customer", models.CASCADE))],
            options={"db_table": "visit"}),
    ]
