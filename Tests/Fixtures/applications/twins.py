#!/usr/bin/env python3
"""Two hosts that do not hear of each other give the same numbers, with children; then they meet.

usage: twins.py chinook|northwind SAMPLE COUNT     with FLOTILLA_LAB and FLOTILLA_BIN set

Every row says in a text who made it and under which parent it belongs, so plain SQL tells whether
each child hangs where its author hung it. Exits 0 only if no row is missing or strayed, and both
files show the same.
"""
import contextlib
import json
import os
import shutil
import sqlite3
import sys
import time

import judge
from drive import Host, Run


@contextlib.contextmanager
def transaction(db):
    db.execute("BEGIN IMMEDIATE")
    yield
    db.execute("COMMIT")


class Chinook:
    def write(self, db, site, count):
        first = {}
        for table in ("Artist", "Album", "Track", "Invoice", "InvoiceLine", "Customer"):
            key = table + "Id"
            first[table] = db.execute(f"SELECT max({key}) FROM {table}").fetchone()[0] + 1
        for n in range(count):
            artist, invoice = first["Artist"] + n, first["Invoice"] + n
            customer = first["Customer"] + n
            with transaction(db):
                db.execute("INSERT INTO Artist VALUES (?, ?)", (artist, f"{site} artist {n}"))
                for m in (2 * n, 2 * n + 1):
                    album = first["Album"] + m
                    db.execute(
                        "INSERT INTO Album VALUES (?, ?, ?)",
                        (album, f"{site} artist {n}/album {m}", artist))
                    db.execute(
                        "INSERT INTO Track(TrackId, Name, AlbumId, MediaTypeId, Composer,"
                        " Milliseconds, UnitPrice) VALUES (?, ?, ?, 1, ?, 1, 1)",
                        (first["Track"] + m, f"{site} track {m}", album,
                         f"{site} artist {n}/album {m}"))
                db.execute(
                    "INSERT INTO Customer(CustomerId, FirstName, LastName, Email)"
                    " VALUES (?, ?, 'x', 'y')", (customer, f"{site} customer {n}"))
                db.execute(
                    "INSERT INTO Invoice(InvoiceId, CustomerId, InvoiceDate, BillingAddress,"
                    " BillingCity, Total) VALUES (?, ?, '2026-01-01', ?, ?, 1)",
                    (invoice, customer, f"{site} invoice {n}", f"{site} customer {n}"))
                for m in (2 * n, 2 * n + 1):
                    # How many were sold says which track is meant, and of which site.
                    db.execute(
                        "INSERT INTO InvoiceLine VALUES (?, ?, ?, ?, ?)",
                        (first["InvoiceLine"] + m, invoice, first["Track"] + m,
                         int(site[1:]), m))
                db.execute(
                    "INSERT INTO PlaylistTrack VALUES (1, ?)", (first["Track"] + 2 * n,))

    counts = {"Artist": 1, "Album": 2, "Track": 2, "Customer": 1, "Invoice": 1, "InvoiceLine": 2,
              "PlaylistTrack": 1}
    strayed = [
        "SELECT Title, Name FROM Album JOIN Artist USING (ArtistId) WHERE Title LIKE 'h_ artist%'"
        " AND Title NOT LIKE Artist.Name || '/%'",
        "SELECT Name, Composer, Title FROM Track JOIN Album USING (AlbumId)"
        " WHERE Name LIKE 'h_ track%' AND Composer IS NOT Title",
        "SELECT BillingAddress, FirstName FROM Invoice JOIN Customer USING (CustomerId)"
        " WHERE BillingAddress LIKE 'h_ invoice%' AND BillingCity IS NOT FirstName",
        "SELECT l.*, t.Name, i.BillingAddress FROM InvoiceLine l JOIN Track t USING (TrackId)"
        " JOIN Invoice i USING (InvoiceId) WHERE i.BillingAddress LIKE 'h_ invoice%' AND ("
        " t.Name <> 'h' || l.UnitPrice || ' track ' || l.Quantity OR"
        " i.BillingAddress <> 'h' || l.UnitPrice || ' invoice ' || (l.Quantity / 2))",
        "SELECT Name, count(*) FROM Artist WHERE Name LIKE 'h_ artist%' GROUP BY 1"
        " HAVING count(*) > 1",
    ]


class Northwind:
    def write(self, db, site, count):
        first = {
            table: db.execute(f"SELECT max({key}) FROM {table}").fetchone()[0] + 1
            for table, key in (("Orders", "OrderID"), ("Products", "ProductID"),
                               ("Employees", "EmployeeID"))}
        customer = db.execute("SELECT min(CustomerID) FROM Customers").fetchone()[0]
        for n in range(count):
            order, employee = first["Orders"] + n, first["Employees"] + n
            with transaction(db):
                db.execute(
                    "INSERT INTO Employees(EmployeeID, LastName, ReportsTo, Notes)"
                    " VALUES (?, ?, ?, ?)",
                    (employee, f"{site} employee {n}", employee - 1 if n % 5 else None,
                     f"{site} employee {n - 1}" if n % 5 else None))
                for m in (2 * n, 2 * n + 1):
                    db.execute(
                        "INSERT INTO Products(ProductID, ProductName) VALUES (?, ?)",
                        (first["Products"] + m, f"{site} product {m}"))
                db.execute(
                    "INSERT INTO Orders(OrderID, CustomerID, EmployeeID, ShipName, ShipCity)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (order, customer, employee, f"{site} order {n}", f"{site} employee {n}"))
                for m in (2 * n, 2 * n + 1):
                    db.execute(
                        'INSERT INTO "Order Details" VALUES (?, ?, ?, ?, 0)',
                        (order, first["Products"] + m, int(site[1:]), m + 1))

    counts = {"Employees": 1, "Products": 2, "Orders": 1, "Order Details": 2}
    strayed = [
        "SELECT a.LastName, b.LastName FROM Employees a JOIN Employees b"
        " ON b.EmployeeID = a.ReportsTo WHERE a.LastName LIKE 'h_ employee%'"
        " AND a.Notes IS NOT b.LastName",
        "SELECT ShipName, LastName FROM Orders JOIN Employees USING (EmployeeID)"
        " WHERE ShipName LIKE 'h_ order%' AND ShipCity IS NOT LastName",
        "SELECT d.*, ShipName, ProductName FROM \"Order Details\" d JOIN Orders USING (OrderID)"
        " JOIN Products USING (ProductID) WHERE ShipName LIKE 'h_ order%' AND ("
        " ProductName <> 'h' || d.UnitPrice || ' product ' || (d.Quantity - 1) OR"
        " ShipName <> 'h' || d.UnitPrice || ' order ' || ((d.Quantity - 1) / 2))",
    ]


def counted(path, tables):
    db = sqlite3.connect(path)
    return {t: db.execute(f'SELECT count(*) FROM "{t}"').fetchone()[0] for t in tables}


def write(name, site, count):
    """On a host: all rows in transactions of one business case each."""
    db = sqlite3.connect("site.db", timeout=5, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    SAMPLES[name].write(db, site, count)


def main(name, path, count):
    run, sample = Run(None, "", 0), SAMPLES[name]
    one, two = run.hosts
    shutil.copyfile(path, one.db)
    os.chmod(one.db, 0o644)
    before = counted(one.db, sample.counts)
    run.found()
    run.until(lambda: judge.differences([one.db, two.db]), 30)
    run.lan("cut", "2")
    begin = time.time()
    program = os.path.abspath(__file__)
    works = [run.spawn(host, "python3", "-B", program, "write", name, host.site, str(count))
             for host in run.hosts]
    for host, work in zip(run.hosts, works):
        if work.wait(timeout=120) != 0:
            sys.exit(f"{host.site} could not write:\n{open(host.home + '/out').read()}")
    run.say(f"written in {time.time() - begin:.1f} s")
    run.lan("heal", "2")
    begin = time.time()
    wanted = {t: n + 2 * count * sample.counts[t] for t, n in before.items()}

    def wrong():
        found = {h.site: counted(h.db, sample.counts) for h in run.hosts}
        report = [f"{s}: {f} instead of {wanted}" for s, f in found.items() if f != wanted]
        return report or judge.differences([one.db, two.db])

    report = run.until(wrong, 60 + count)
    run.say(f"met in {time.time() - begin:.1f} s")
    db = sqlite3.connect(one.db)
    for query in sample.strayed:
        report += [f"strayed: {row}" for row in db.execute(query).fetchmany(5)]
    report += run.until(run.stuck, 30)
    report += run.waiting()
    conflicts = json.loads(one.succeed("flotilla", "conflicts", "site.db", "--all", "--json"))
    run.say(f"{len(conflicts['conflicts'])} lines in the conflict log of {one.site}")
    return run.end(report)


SAMPLES = {"chinook": Chinook(), "northwind": Northwind()}
if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
