import CSQLite

/// SQLite without locks and statistics, which cost a sixth of the time of a full schedule.
///
/// "The sqlite3_config() interface may only be invoked prior to library initialization"
/// (sqlite.org/c3ref/config.html), and no second thread may use SQLite from then on.
package enum SingleThread {
  package static func begin() {
    let code = flotilla_configure_single_thread()
    precondition(code == SQLITE_OK, "SQLite cannot be configured: \(code)")
  }
}
