#pragma once
#include <sqlite3.h>

// What Swift cannot call by itself: variadic functions and cast macros.

static inline int flotilla_db_config_set(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

static inline int flotilla_bind_blob(sqlite3_stmt *s, int i, const void *p, sqlite3_uint64 n) {
  return sqlite3_bind_blob64(s, i, p, n, SQLITE_TRANSIENT);
}

// Lends bytes that stay where they are until the statement is reset and its bindings are cleared.
static inline int flotilla_lend(sqlite3_stmt *s, int i, const void *p, sqlite3_uint64 n, int text) {
  if (text) return sqlite3_bind_text64(s, i, (const char *)p, n, SQLITE_STATIC, SQLITE_UTF8);
  return sqlite3_bind_blob64(s, i, p, n, SQLITE_STATIC);
}

static inline int flotilla_bind_text(sqlite3_stmt *s, int i, const char *p, sqlite3_uint64 n) {
  return sqlite3_bind_text64(s, i, p, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// For a program of one thread: no locks and no statistics. Only before anything else is called.
static inline int flotilla_configure_single_thread(void) {
  int code = sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  return code ? code : sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
