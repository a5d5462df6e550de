#!/usr/bin/env python3
"""A shop made with Django. usage: manage.py migrate shop [NAME] | write SITE LOG STOP PAUSE"""
import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
execute_from_command_line(sys.argv)
