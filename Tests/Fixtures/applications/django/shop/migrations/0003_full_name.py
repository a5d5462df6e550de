from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_email")]
    operations = [
        migrations.RenameField("Customer", "name", "full_name"),
    ]
