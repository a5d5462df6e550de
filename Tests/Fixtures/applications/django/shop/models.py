"""The shop as it is after the last migration."""
from django.db import models


class Customer(models.Model):
    token = models.CharField(max_length=40, unique=True)
    full_name = models.CharField(max_length=80)
    note = models.TextField()
    email = models.CharField(max_length=80, default="")

    class Meta:
        db_table = "customer"


class Tag(models.Model):
    name = models.CharField(max_length=40)

    class Meta:
        db_table = "tag"


class Purchase(models.Model):
    token = models.CharField(max_length=40)
    meant = models.CharField(max_length=40)
    total = models.IntegerField(default=0)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
    tags = models.ManyToManyField(Tag, db_table="purchase_tags")

    class Meta:
        db_table = "purchase"
        indexes = [models.Index(fields=["token"], name="purchase_token")]


class Line(models.Model):
    token = models.CharField(max_length=40)
    meant = models.CharField(max_length=40)
    quantity = models.IntegerField(default=1)
    sku = models.CharField(max_length=20, default="")
    purchase = models.ForeignKey(Purchase, on_delete=models.CASCADE)

    class Meta:
        db_table = "line"


class Visit(models.Model):
    token = models.CharField(max_length=40)
    meant = models.CharField(max_length=40)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)

    class Meta:
        db_table = "visit"
