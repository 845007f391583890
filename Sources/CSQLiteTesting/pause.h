// Calls back in the middle of a connection's checkpoints: after it has read the log's index, before it copies. Tests commit in
// that moment. A connection calls only if its copy of the index was old.

typedef void (*mesh_callback)(void *context);

// The methods are the first member, so a file's pointer to them is one to all of it.
struct mesh_pause {
  sqlite3_io_methods methods;
  const sqlite3_io_methods *own;
  mesh_callback callback;
  void *context;
};

static inline int mesh_pause_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
  struct mesh_pause *pause = (struct mesh_pause *)file->pMethods;
  if (offset == 0 && page == 0) pause->callback(pause->context);
  return pause->own->xUnfetch(file, offset, page);
}

// Until `mesh_pause_remove`, which is to come before the connection closes. NULL where it cannot be done.
static inline void *mesh_pause_install(sqlite3 *db, mesh_callback callback, void *context) {
  sqlite3_file *file = 0;
  if (mesh_wal_file(db, &file) != SQLITE_OK || file->pMethods->iVersion < 3) return 0;
  struct mesh_pause *pause = (struct mesh_pause *)calloc(1, sizeof(struct mesh_pause));
  if (pause == 0) return 0;
  pause->own = file->pMethods;
  pause->methods = *file->pMethods;
  pause->methods.xUnfetch = mesh_pause_unfetch;
  pause->callback = callback;
  pause->context = context;
  file->pMethods = &pause->methods;
  return pause;
}

static inline void mesh_pause_remove(sqlite3 *db, void *installed) {
  sqlite3_file *file = 0;
  struct mesh_pause *pause = (struct mesh_pause *)installed;
  if (mesh_wal_file(db, &file) == SQLITE_OK) file->pMethods = pause->own;
  free(pause);
}
