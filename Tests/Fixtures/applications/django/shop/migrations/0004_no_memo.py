from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0003_full_name")]
    operations = [
        migrations.RemoveField("Purchase", "memo"),
    ]
