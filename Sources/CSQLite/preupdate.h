// Debian's library has the pre-update hook, and its header hides it. Prototypes as SQLite documents them.
void *sqlite3_preupdate_hook(
  sqlite3 *db,
  void (*hook)(void *context, sqlite3 *db, int operation, char const *database, char const *table,
    sqlite3_int64 old_rowid, sqlite3_int64 new_rowid),
  void *context);
int sqlite3_preupdate_old(sqlite3 *db, int column, sqlite3_value **value);
int sqlite3_preupdate_new(sqlite3 *db, int column, sqlite3_value **value);
int sqlite3_preupdate_depth(sqlite3 *db);

static inline int mesh_sqlite3_enable_triggers(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}
