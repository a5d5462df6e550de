"""The settings of a small program; the database is site.db of the working folder."""
import os

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.path.join(os.getcwd(), "site.db"),
        "OPTIONS": {"timeout": 5},
    }
}
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
SECRET_KEY = "for tests"
USE_TZ = True
