import Testing

@testable import Store

/// Which tables are the books of migration tools, and which names mean a copy.
@Suite struct MigrationBookTests {
  @Test(arguments: [
    "django_migrations", "alembic_version", "schema_migrations", "ar_internal_metadata",
    "flyway_schema_history", "__EFMigrationsHistory", "_sqlx_migrations", "knex_migrations",
    "knex_migrations_lock", "SequelizeMeta", "_prisma_migrations", "goose_db_version",
    "grdb_migrations", "room_master_table", "phinxlog", "doctrine_migration_versions",
    "acl_phinxlog", "adonis_schema", "adonis_schema_versions", "payload_migrations",
    "typeorm_metadata",
  ])
  func `a book is known by its name`(_ name: String) {
    #expect(MigrationBook.isOne(name, columns: ["whatever"]))
    #expect(MigrationBook.isOne(name.uppercased(), columns: []))
  }

  @Test func `a common name is one with the columns of the tool alone`() {
    #expect(MigrationBook.isOne("migrations", columns: ["id", "migration", "batch"]))
    #expect(MigrationBook.isOne("Migrations", columns: ["ID", "timestamp", "name"]))
    #expect(!MigrationBook.isOne("migrations", columns: ["id", "bird", "from_place", "to_place"]))
    let flyway = [
      "installed_rank", "version", "description", "type", "script", "checksum", "installed_by",
      "installed_on", "execution_time", "success",
    ]
    #expect(MigrationBook.isOne("schema_version", columns: flyway))
    #expect(MigrationBook.isOne("SCHEMA_VERSION", columns: ["version_rank"] + flyway))
    #expect(!MigrationBook.isOne("schema_version", columns: ["version", "description"]))
    #expect(!MigrationBook.isOne("patient", columns: ["id", "migration", "batch"]))
    #expect(!MigrationBook.isOne("my_django_migrations", columns: ["id"]))
  }

  @Test(arguments: [
    ("new__patient", "patient"), ("_alembic_tmp_visit", "visit"), ("patient_old", "patient"),
    ("PATIENT_NEW", "patient"), ("new_patient", "patient"), ("__temp__gone", "gone"),
    ("_new_patient", "patient"), ("patient__tmp__", "patient"),
  ])
  func `a name can mean a copy of a table`(_ name: String, original: String) {
    #expect(ScratchName.original(of: name, among: ["patient", "visit"]) == original)
  }

  @Test(arguments: [
    "new_ward", "ward_old", "old_", "_new", "patient", "newpatient", "renew_patient",
  ])
  func `the same words in a name of its own mean nothing`(_ name: String) {
    #expect(ScratchName.original(of: name, among: ["patient", "visit", "news"]) == nil)
  }
}
