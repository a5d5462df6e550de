import SQLite

/// The tables in which migration tools note what they have done to the file that they are in.
///
/// Host 1 migrates and notes it in `django_migrations`. If that row came to host 2, its `migrate`
/// would find nothing to do, and its tables would stay as they were.
package enum MigrationBook {
  /// Whether a table of that name and with these columns is one.
  package static func isOne(_ name: String, columns: [String]) -> Bool {
    let name = folded(name)
    if names.contains(name) || name.hasSuffix("_phinxlog") { return true }
    guard let shapes = shapes[name] else { return false }
    return shapes.contains(Set(columns.map(folded)))
  }

  /// The same of a table of a file.
  static func isOne(_ name: String, on connection: Connection) throws(StoreError) -> Bool {
    let columns = try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT name FROM pragma_table_info(?, 'main')", [.string(name)])
    }
    return isOne(name, columns: columns.compactMap { $0[0].string })
  }

  /// Names that nothing else has.
  private static let names: Set<String> = [
    // Python: Django and South, Alembic, sqlalchemy-migrate, Aerich, Peewee, Yoyo.
    "django_migrations", "south_migrationhistory", "alembic_version", "migrate_version", "aerich",
    "migratehistory", "_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock",
    // Ruby: Rails (golang-migrate, dbmate and Ecto use the first name, too), Sequel.
    "schema_migrations", "ar_internal_metadata",
    // PHP: Phinx, CakePHP, Doctrine.
    "phinxlog", "cake_migrations", "cake_seeds", "doctrine_migration_versions",
    // JavaScript: Knex, Sequelize, Prisma, Drizzle, MikroORM, Kysely, Cloudflare D1, AdonisJS,
    // Payload, TypeORM.
    "knex_migrations", "knex_migrations_lock", "sequelizemeta", "sequelizedata",
    "_prisma_migrations", "__drizzle_migrations", "mikro_orm_migrations", "kysely_migration",
    "kysely_migration_lock", "d1_migrations", "adonis_schema", "adonis_schema_versions",
    "payload_migrations", "typeorm_metadata",
    // JVM: Flyway, Liquibase, Room, Exposed.
    "flyway_schema_history", "databasechangelog", "databasechangeloglock", "room_master_table",
    "android_metadata",
    // .NET: Entity Framework, DbUp.
    "__efmigrationshistory", "__efmigrationslock", "__migrationhistory", "schemaversions",
    // Go: goose, sql-migrate, Bun, Atlas. Rust: SQLx, Diesel, Refinery, SeaORM. Swift: GRDB and
    // Fluent.
    "goose_db_version", "gorp_migrations", "bun_migrations", "bun_migration_locks",
    "atlas_schema_revisions", "_sqlx_migrations", "__diesel_schema_migrations",
    "refinery_schema_history", "seaql_migrations", "grdb_migrations", "_fluent_migrations",
    "_fluent_enums",
  ]

  /// Names that an application may use for something else: only with just these columns.
  private static let shapes: [String: Set<Set<String>>] = [
    // Laravel, TypeORM, gormigrate.
    "migrations": [["id", "migration", "batch"], ["id", "timestamp", "name"], ["id"]],
    // Yii.
    "migration": [["version", "apply_time"]],
    // PocketBase.
    "_migrations": [["file", "applied"]],
    // Sequel, and Doctrine before its version 3.
    "schema_info": [["version"]],
    "migration_versions": [["version"], ["version", "executed_at"]],
    // FluentMigrator.
    "versioninfo": [["version", "appliedon", "description"]],
    // Flyway before its version 5, and before 4.
    "schema_version": [flyway, flyway.union(["version_rank"])],
  ]

  private static let flyway: Set = [
    "installed_rank", "version", "description", "type", "script", "checksum", "installed_by",
    "installed_on", "execution_time", "success",
  ]
}

/// The names under which migration tools make a table anew, or keep the old one, for a moment.
///
/// "Create new table … Transfer content from X into new_X … Drop the old table X … Change the name
/// of new_X to X" (sqlite.org/lang_altertable.html, shortened): between two of these steps anybody
/// can see a table of that name.
package enum ScratchName {
  /// Of which table this may be a copy, as far as the name tells, if that is one of `tables`. A
  /// name that no application would use gives what it says, whether there is such a table or not.
  package static func original(of name: String, among tables: Set<String>) -> String? {
    let name = folded(name)
    for prefix in certain where name.hasPrefix(prefix) {
      return String(name.dropFirst(prefix.count))
    }
    let found =
      prefixes.filter(name.hasPrefix).map { String(name.dropFirst($0.count)) }
      + suffixes.filter(name.hasSuffix).map { String(name.dropLast($0.count)) }
    return found.first { !$0.isEmpty && tables.contains($0) }
  }

  /// Django, Alembic, Doctrine and Laravel, Entity Framework, Knex, Drizzle.
  private static let certain = [
    "new__", "_alembic_tmp_", "__temp__", "ef_temp_", "_knex_temp_alter", "__new_",
  ]
  private static let prefixes = [
    "new_", "_new_", "old_", "_old_", "tmp_", "_tmp_", "temp_", "_temp_", "temporary_", "backup_",
  ]
  private static let suffixes = [
    "_new", "__new", "_old", "__old", "_tmp", "__tmp__", "_temp", "_backup", "_bak", "_copy",
  ]
}
