<?php
// A shop in PHP. The migrations are the statements that Laravel makes for SQLite.
// usage: program.php migrate STEP | write SITE LOG STOP PAUSE

function open(bool $keys): PDO
{
    $db = new PDO('sqlite:site.db', null, null, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_TIMEOUT => 5,
    ]);
    $db->exec('PRAGMA foreign_keys = ' . ($keys ? 'ON' : 'OFF'));
    return $db;
}

// What Blueprint::change() does: the table is copied to another one, which takes its name.
function remake(string $table, string $columns, string $from, string $to, array $indexes): array
{
    return [
        "create table \"__temp__$table\" ($columns)",
        "insert into \"__temp__$table\" ($to) select $from from \"$table\"",
        "drop table \"$table\"",
        "alter table \"__temp__$table\" rename to \"$table\"",
        ...$indexes,
    ];
}

const ID = '"id" integer primary key autoincrement not null';

function migrations(): array
{
    $parent = fn ($column, $table) => "foreign key(\"$column\") references \"$table\"(\"id\")";
    return [
        1 => [
            'create table "customer" (' . ID . ', "token" varchar not null,
             "name" varchar not null, "note" text)',
            'create table "tag" (' . ID . ', "name" varchar not null)',
            'insert into "tag" ("name") values (\'tag-1\'), (\'tag-2\'), (\'tag-3\'), (\'tag-4\'),
             (\'tag-5\')',
            'create table "purchase" (' . ID . ', "token" varchar not null,
             "meant" varchar not null, "total" integer, "memo" text not null, "customer_id" integer not null, '
                . $parent('customer_id', 'customer') . ' on delete cascade)',
            'create index "purchase_customer_id_index" on "purchase" ("customer_id")',
            'create table "purchase_tags" ("purchase_id" integer not null,
             "tag_id" integer not null, ' . $parent('purchase_id', 'purchase') . ', '
                . $parent('tag_id', 'tag') . ', primary key ("purchase_id", "tag_id"))',
            'create table "line" (' . ID . ', "token" varchar not null, "meant" varchar not null,
             "quantity" integer, "sku" varchar, "purchase_id" integer not null, '
                . $parent('purchase_id', 'purchase') . ' on delete cascade)',
        ],
        2 => ['alter table "customer" add column "email" varchar not null default \'\''],
        3 => ['alter table "customer" rename column "name" to "full_name"'],
        4 => ['alter table "purchase" drop column "memo"'],
        5 => [
            'update "line" set "sku" = \'\' where "sku" is null',
            ...remake('line', ID . ', "token" varchar not null, "meant" varchar not null,
                "quantity" integer, "sku" varchar not null, "purchase_id" integer not null, '
                . $parent('purchase_id', 'purchase') . ' on delete cascade',
                '"id", "token", "meant", "quantity", "sku", "purchase_id"',
                '"id", "token", "meant", "quantity", "sku", "purchase_id"', []),
        ],
        6 => [
            'create index "purchase_token_index" on "purchase" ("token")',
            'create unique index "customer_token_unique" on "customer" ("token")',
        ],
        7 => ['create table "visit" (' . ID . ', "token" varchar not null, "meant" varchar not null,
             "customer_id" integer not null, ' . $parent('customer_id', 'customer') . ')'],
    ];
}

function migrate(int $step): void
{
    $db = open(false);
    $db->exec('create table if not exists "migrations" (' . ID . ', "migration" varchar not null,
        "batch" integer not null)');
    $done = $db->query('select "batch" from "migrations"')->fetchAll(PDO::FETCH_COLUMN);
    foreach (migrations() as $number => $statements) {
        if ($number > $step || in_array($number, $done)) {
            continue;
        }
        $db->exec('BEGIN IMMEDIATE');
        foreach ($statements as $statement) {
            $db->exec($statement);
        }
        $db->exec("insert into migrations (migration, batch) values ('m$number', $number)");
        $db->exec('COMMIT');
    }
}

class Absent extends Exception
{
}

class Shop
{
    private PDO $db;
    private array $columns;
    private array $own = ['customer' => [], 'purchase' => [], 'line' => []];
    private int $count = 0;
    public int $retries = 0;
    public int $reloads = 0;
    private array $facts;

    public function __construct(private string $site, private $log)
    {
        mt_srand(crc32($site));
        $this->reload();
    }

    private function reload(): void
    {
        $this->db = open(true);
        $this->columns = [];
        $tables = $this->db->query("select name from sqlite_master where type = 'table'");
        foreach ($tables->fetchAll(PDO::FETCH_COLUMN) as $table) {
            $info = $this->db->query("pragma table_info(\"$table\")")->fetchAll(PDO::FETCH_ASSOC);
            $this->columns[$table] = array_column($info, 'notnull', 'name');
        }
    }

    private function has(string $table, string $column): bool
    {
        return isset($this->columns[$table][$column]);
    }

    private function run(string $sql, array $values = []): PDOStatement
    {
        $statement = $this->db->prepare($sql);
        $statement->execute($values);
        return $statement;
    }

    private function pk(string $table, string $token): int
    {
        $found = $this->run("select id from $table where token = ?", [$token])->fetchColumn();
        return $found === false ? throw new Absent("$table $token") : $found;
    }

    private function token(string $kind): string
    {
        return "$this->site-$kind-" . ++$this->count;
    }

    // The values that the table has room for by now, under the names that they have there.
    private function fitting(string $table, array $values): array
    {
        if (isset($values['name']) && $this->has($table, 'full_name')) {
            $values['full_name'] = $values['name'];
        }
        return array_filter(
            $values, fn ($column) => $this->has($table, $column), ARRAY_FILTER_USE_KEY);
    }

    private function note(string $table, string $token, array $values, array $fitting): void
    {
        $known = ['note' => 1, 'email' => 1, 'total' => 1, 'quantity' => 1, 'meant' => 1];
        $seen = array_intersect_key($fitting, $known);
        if (isset($values['name'])) {
            $seen['name'] = $values['name'];
        }
        $this->facts['set'][] = [$table, $token, (object) $seen];
    }

    private function insert(string $table, string $token, array $values): void
    {
        $fitting = $this->fitting($table, ['token' => $token] + $values);
        $names = implode(', ', array_keys($fitting));
        $marks = implode(', ', array_fill(0, count($fitting), '?'));
        $this->run("insert into $table ($names) values ($marks)", array_values($fitting));
        $this->note($table, $token, $values, $fitting);
    }

    private function update(string $table, string $token, array $values): void
    {
        $fitting = $this->fitting($table, $values);
        $terms = implode(', ', array_map(fn ($column) => "$column = ?", array_keys($fitting)));
        $id = $this->pk($table, $token);
        $this->run("update $table set $terms where id = ?", [...array_values($fitting), $id]);
        $this->note($table, $token, $values, $fitting);
    }

    private function drawn(string $table): ?string
    {
        $own = $this->own[$table];
        return $own ? $own[array_rand($own)] : null;
    }

    private function customer(): string
    {
        $token = $this->token('customer');
        $this->insert('customer', $token,
            ['name' => "Name $token", 'note' => 'new', 'email' => "$token@site"]);
        return $token;
    }

    private function purchase(string $meant): string
    {
        $token = $this->token('purchase');
        $this->insert('purchase', $token, ['meant' => $meant, 'total' => 0, 'memo' => 'as agreed',
            'customer_id' => $this->pk('customer', $meant)]);
        return $token;
    }

    private function line(string $meant): void
    {
        $sku = $this->columns['line']['sku'] || mt_rand(0, 2) ? 'S-1' : null;
        $this->insert('line', $this->token('line'), ['meant' => $meant, 'quantity' => 1,
            'sku' => $sku, 'purchase_id' => $this->pk('purchase', $meant)]);
    }

    private function tag(string $purchase): void
    {
        $tag = 'tag-' . mt_rand(1, 5);
        $this->run('insert into purchase_tags (purchase_id, tag_id) values (?, ?)', [
            $this->pk('purchase', $purchase),
            $this->run('select id from tag where name = ?', [$tag])->fetchColumn()]);
        $this->facts['tag'][] = [$purchase, $tag];
    }

    private function work(): void
    {
        $draw = mt_rand(0, 19);
        if ($draw < 4) {
            $customer = $this->customer();
            for ($i = mt_rand(1, 2); $i > 0; $i--) {
                $purchase = $this->purchase($customer);
                for ($j = mt_rand(1, 3); $j > 0; $j--) {
                    $this->line($purchase);
                }
                if (mt_rand(0, 1)) {
                    $this->tag($purchase);
                }
            }
        } elseif ($draw < 10) {
            $table = ['customer', 'purchase', 'line'][mt_rand(0, 2)];
            $column = ['customer' => 'note', 'purchase' => 'total', 'line' => 'quantity'][$table];
            if ($token = $this->drawn($table)) {
                $this->count++;
                $value = $table === 'customer' ? "edit $this->count" : $this->count;
                $this->update($table, $token, [$column => $value]);
            }
        } elseif ($draw < 12) {
            if ($token = $this->drawn('customer')) {
                $this->count++;
                $this->update('customer', $token, ['name' => "Name $this->count"]);
            }
        } elseif ($draw < 14) {
            if (($token = $this->drawn('purchase')) && ($to = $this->drawn('customer'))) {
                $this->update('purchase', $token,
                    ['meant' => $to, 'customer_id' => $this->pk('customer', $to)]);
            }
        } elseif ($draw < 15) {
            if ($token = $this->drawn('line')) {
                $this->run('delete from line where id = ?', [$this->pk('line', $token)]);
                $this->facts['gone'][] = ['line', $token];
            }
        } elseif ($draw < 17) {
            $found = $this->run('select token from customer where token not like ?
                order by id desc limit 20', ["$this->site-%"])->fetchAll(PDO::FETCH_COLUMN);
            if ($found) {
                $this->line($this->purchase($found[array_rand($found)]));
            }
        } elseif ($draw < 18) {
            $this->count++;
            $this->update('customer', 'shared-' . mt_rand(1, 5),
                ['note' => "$this->site $this->count"]);
        } elseif ($this->has('visit', 'id') && ($meant = $this->drawn('customer'))) {
            $this->insert('visit', $this->token('visit'),
                ['meant' => $meant, 'customer_id' => $this->pk('customer', $meant)]);
        }
    }

    public function once(): void
    {
        $this->facts = ['at' => microtime(true), 'set' => [], 'gone' => [], 'tag' => []];
        try {
            $this->db->exec('BEGIN IMMEDIATE');
            $this->work();
            $this->db->exec('COMMIT');
        } catch (PDOException | Absent $error) {
            try {
                $this->db->exec('ROLLBACK');
            } catch (PDOException) {
                // There was none, or SQLite has undone it.
            }
            $words = $error->getMessage();
            if ($error instanceof Absent) {
                printf("%.2f %s\n", microtime(true), $words);
            } elseif (str_contains($words, 'locked')) {
                $this->retries++;
            } elseif (preg_match('/no such|has no column|NOT NULL|schema has changed/', $words)) {
                $this->reloads++;
                $this->reload();
            } else {
                throw $error;
            }
            return;
        }
        fwrite($this->log, json_encode($this->facts) . "\n");
        foreach ($this->facts['set'] as [$table, $token]) {
            $isNew = isset($this->own[$table]) && str_starts_with($token, $this->site);
            if ($isNew && !in_array($token, $this->own[$table])) {
                $this->own[$table][] = $token;
            }
        }
        foreach ($this->facts['gone'] as [$table, $token]) {
            $this->own[$table] = array_values(array_diff($this->own[$table], [$token]));
        }
    }
}

if ($argv[1] === 'migrate') {
    migrate((int) $argv[2]);
} else {
    [, , $site, $log, $stop, $pause] = $argv;
    $shop = new Shop($site, fopen($log, 'a'));
    while (!file_exists($stop)) {
        clearstatcache();
        $shop->once();
        usleep((int) (mt_rand() / mt_getrandmax() * $pause * 2e6));
    }
    echo "$site: $shop->retries retries, $shop->reloads looks at a new schema\n";
}
