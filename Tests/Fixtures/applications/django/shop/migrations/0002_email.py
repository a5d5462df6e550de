from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AddField("Customer", "email", models.CharField(max_length=80, default="")),
    ]
