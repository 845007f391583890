#include <sqlite3.h>

// sqlite3_db_config is variadic, which Swift cannot call.
static inline int mesh_sqlite3_set_defensive(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, on, (int *)0);
}
static inline int mesh_sqlite3_set_trusted_schema(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, on, (int *)0);
}
