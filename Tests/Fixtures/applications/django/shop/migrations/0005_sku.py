from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0004_no_memo")]
    operations = [
        migrations.AlterField("Line", "sku", models.CharField(max_length=20, default="")),
    ]
