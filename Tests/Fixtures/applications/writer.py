"""What a busy shop does all day, whichever framework its program is made with.

A writer makes customers with purchases and lines, edits, moves and deletes its own rows, hangs
purchases under customers of the other site, and edits customers that both sites edit. Every row has
a token that its author made up, and every child notes the token of the parent that was meant: so
whoever reads the tables with plain SQL can tell whether a child hangs where its author hung it.

What was committed is written to a log after the commit, one transaction a line. A migration may
take a column away at any moment: then the writer looks at the schema again, as a program does
that is started anew with it, and goes on without a pause.
"""
import json
import os
import random
import time


class Log:
    """One line for each transaction that was committed."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def note(self, facts):
        self.file.write(json.dumps(facts) + "\n")


class Writer:
    """Draws one transaction after the other, and does it through a shop.

    A shop has `transaction`, `reload`, `has(table, column)`, `demands_sku`; by the token of a row
    `pk`, `update`, `delete` and `tag`; `insert` and `strangers`; and tells of an error whether it
    `is_stale` (the schema has changed) or `is_absent` (there is no such row).
    """

    def __init__(self, shop, site, log):
        self.shop, self.site, self.log = shop, site, log
        self.dice = random.Random(site)
        self.count = 0
        self.retries = self.reloads = 0
        self.own = {"customer": [], "purchase": [], "line": []}

    # What is written

    def token(self, kind):
        self.count += 1
        return f"{self.site}-{kind}-{self.count}"

    def values(self, table, **values):
        """The values that the table has room for by now, and the name that each has there."""
        if table == "customer" and "name" in values and self.shop.has(table, "full_name"):
            values["full_name"] = values.pop("name")
        return {column: value for column, value in values.items() if self.shop.has(table, column)}

    def customer(self, facts):
        token = self.token("customer")
        values = self.values(
            "customer", token=token, name=f"Name {token}", note="new", email=f"{token}@site")
        self.shop.insert("customer", values)
        self.set(facts, "customer", token, values)
        return token

    def purchase(self, facts, meant):
        token = self.token("purchase")
        values = self.values("purchase", token=token, meant=meant, total=0, memo="as agreed")
        self.shop.insert(
            "purchase", {**values, "customer_id": self.shop.pk("customer", meant)})
        self.set(facts, "purchase", token, values)
        return token

    def line(self, facts, meant):
        token = self.token("line")
        sku = self.dice.choice(["", "S-1", None])
        if sku is None and self.shop.demands_sku():
            sku = ""
        values = self.values("line", token=token, meant=meant, quantity=1, sku=sku)
        self.shop.insert("line", {**values, "purchase_id": self.shop.pk("purchase", meant)})
        self.set(facts, "line", token, values)

    def set(self, facts, table, token, values):
        known = {c: v for c, v in values.items() if c not in ("token", "memo", "sku")}
        if "full_name" in known:
            known["name"] = known.pop("full_name")
        facts["set"].append([table, token, known])

    def change(self, facts, table, token, **values):
        values = self.values(table, **values)
        self.shop.update(table, token, values)
        self.set(facts, table, token, {c: v for c, v in values.items() if c[-3:] != "_id"})

    def drawn(self, table):
        return self.dice.choice(self.own[table]) if self.own[table] else None

    # Transactions

    def business(self, facts):
        """A customer with purchases, and these with lines."""
        customer = self.customer(facts)
        for _ in range(self.dice.randint(1, 2)):
            purchase = self.purchase(facts, customer)
            for _ in range(self.dice.randint(1, 3)):
                self.line(facts, purchase)
            if self.dice.random() < 0.5:
                self.tagged(facts, purchase)

    def tagged(self, facts, purchase):
        tag = f"tag-{self.dice.randint(1, 5)}"
        self.shop.tag(purchase, tag)
        facts["tag"].append([purchase, tag])

    def edit(self, facts):
        table = self.dice.choice(["customer", "purchase", "line"])
        if token := self.drawn(table):
            self.count += 1
            column = {"customer": "note", "purchase": "total", "line": "quantity"}[table]
            value = f"edit {self.count}" if table == "customer" else self.count
            self.change(facts, table, token, **{column: value})

    def rename(self, facts):
        if token := self.drawn("customer"):
            self.count += 1
            self.change(facts, "customer", token, name=f"Name {self.count}")

    def move(self, facts):
        """A purchase of this site goes to another customer of this site."""
        if (token := self.drawn("purchase")) and (to := self.drawn("customer")):
            self.change(
                facts, "purchase", token, meant=to, customer_id=self.shop.pk("customer", to))

    def remove(self, facts):
        if token := self.drawn("line"):
            self.shop.delete("line", token)
            facts["gone"].append(["line", token])

    def foreign(self, facts):
        """A purchase with a line under a customer that the other site has made."""
        strangers = self.shop.strangers(self.site)
        if strangers:
            self.line(facts, self.purchase(facts, self.dice.choice(strangers)))

    def shared(self, facts):
        self.count += 1
        token = f"shared-{self.dice.randint(1, 5)}"
        self.change(facts, "customer", token, note=f"{self.site} {self.count}")

    def visit(self, facts):
        if self.shop.has("visit", "id") and (meant := self.drawn("customer")):
            token = self.token("visit")
            customer = self.shop.pk("customer", meant)
            self.shop.insert("visit", {"token": token, "meant": meant, "customer_id": customer})
            facts["set"].append(["visit", token, {"meant": meant}])

    # The day

    def once(self):
        work = self.dice.choices(
            [self.business, self.edit, self.rename, self.move, self.remove, self.foreign,
             self.shared, self.visit],
            [4, 6, 2, 2, 1, 2, 1, 2])[0]
        facts = {"at": time.time(), "set": [], "gone": [], "tag": []}
        count = self.count
        try:
            with self.shop.transaction():
                work(facts)
        except Exception as error:
            if "locked" in str(error):
                self.retries += 1
                time.sleep(0.02)
            elif self.shop.is_stale(error):
                self.reloads += 1
                self.shop.reload()
            elif self.shop.is_absent(error):
                print(f"{time.time():.2f} {work.__name__}: {error}", flush=True)
            else:
                raise
            return
        self.log.note(facts)
        for table, token, _ in facts["set"]:
            mine = self.own.get(table)
            if mine is not None and token not in mine and token.startswith(self.site):
                mine.append(token)
        for table, token in facts["gone"]:
            self.own[table].remove(token)

    def work(self, stop, pause):
        while not os.path.exists(stop):
            self.once()
            time.sleep(self.dice.random() * pause * 2)
        print(f"{self.site}: {self.retries} retries, {self.reloads} looks at a new schema")
