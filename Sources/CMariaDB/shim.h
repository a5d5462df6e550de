#pragma once
#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <string.h>

// What takes pointers to values of several types, or is a macro.

/// A connection that is not open yet. With `secure` it is TLS with a certificate that is checked,
/// or nothing: both are set explicitly, for neither is the default of this library.
static inline MYSQL *flotilla_mysql_new(
    int secure, int socket, const char *authority, unsigned seconds) {
  MYSQL *made = mysql_init(NULL);
  if (!made) return NULL;
  my_bool yes = 1, no = 0;
  unsigned local = 0, connecting = 10;
  mysql_options(made, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options(made, MYSQL_OPT_CONNECT_TIMEOUT, &connecting);
  mysql_options(made, MYSQL_OPT_READ_TIMEOUT, &seconds);
  mysql_options(made, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  // A server must not ask for files of this machine.
  mysql_options(made, MYSQL_OPT_LOCAL_INFILE, &local);
  mysql_options(made, MYSQL_OPT_RECONNECT, &no);
  mysql_options(made, MYSQL_REPORT_DATA_TRUNCATION, &yes);
  mysql_options(made, MYSQL_OPT_SSL_ENFORCE, secure ? &yes : &no);
  mysql_options(made, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, secure ? &yes : &no);
  if (authority) mysql_options(made, MYSQL_OPT_SSL_CA, authority);
  // Who has this machine's port may be anybody: without TLS nothing from which a password can be
  // read or guessed at once. Over a socket of the file system caching_sha2_password may have it.
  if (!secure)
    mysql_options(
        made, MARIADB_OPT_RESTRICTED_AUTH,
        socket ? "mysql_native_password,client_ed25519,parsec,auth_gssapi_client,"
                 "caching_sha2_password,sha256_password"
               : "mysql_native_password,client_ed25519,parsec,auth_gssapi_client");
  return made;
}

/// Affected rows are those that were found, whether or not they change.
static inline MYSQL *flotilla_mysql_connect(
    MYSQL *made, const char *host, unsigned port, const char *socket, const char *user,
    const char *password, const char *database) {
  return mysql_real_connect(made, host, user, password, database, port, socket, CLIENT_FOUND_ROWS);
}

/// Whether a statement may be sent with many rows of values at a time.
static inline int flotilla_mysql_has_arrays(MYSQL *connection) {
  unsigned long capabilities = 0, extended = 0;
  mariadb_get_infov(connection, MARIADB_CONNECTION_SERVER_CAPABILITIES, &capabilities);
  mariadb_get_infov(connection, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &extended);
  return !(capabilities & CLIENT_MYSQL)
      && (extended & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32));
}

static inline int flotilla_mysql_set_array(MYSQL_STMT *statement, unsigned rows) {
  return mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &rows);
}

/// Where the values of one parameter are; of an array of texts `values` holds pointers to them.
static inline void flotilla_mysql_bind(
    MYSQL_BIND *bind, int type, void *values, unsigned long *lengths, char *indicators) {
  memset(bind, 0, sizeof *bind);
  bind->buffer_type = (enum enum_field_types)type;
  bind->buffer = values;
  bind->length = lengths;
  bind->u.indicator = indicators;
}

/// Where the value of one column of a result goes.
static inline void flotilla_mysql_result(
    MYSQL_BIND *bind, int type, int isUnsigned, void *buffer, unsigned long room,
    unsigned long *length, my_bool *isNull, my_bool *isCut) {
  memset(bind, 0, sizeof *bind);
  bind->buffer_type = (enum enum_field_types)type;
  bind->is_unsigned = isUnsigned;
  bind->buffer = buffer;
  bind->buffer_length = room;
  bind->length = length;
  bind->is_null = isNull;
  bind->error = isCut;
}
