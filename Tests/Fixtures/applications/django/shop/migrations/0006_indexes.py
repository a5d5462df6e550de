from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0005_sku")]
    operations = [
        migrations.AddIndex("Purchase", models.Index(fields=["token"], name="purchase_token")),
        migrations.AlterField("Customer", "token", models.CharField(max_length=40, unique=True)),
    ]
