#include <fcntl.h>
#include <linux/stat.h>
#include <malloc.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "wal.h"
#include "preupdate.h"

// sqlite3_db_config is variadic, which Swift cannot call.
static inline int mesh_sqlite3_set_defensive(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, on, (int *)0);
}
// Closing the last connection then neither copies the log nor deletes the files at its paths.
static inline int mesh_sqlite3_leave_log(sqlite3 *db) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
static inline int mesh_sqlite3_set_trusted_schema(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, on, (int *)0);
}
// sqlite3_config is, too.
static inline int mesh_sqlite3_set_memory_statistics(int on) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on);
}

// Gives the system the pages that the allocator keeps. The module of the C library does not show it.
static inline void mesh_trim_memory(void) { malloc_trim(0); }

// When the file at the path was created, in nanoseconds since 1970. 0 if the file system doesn't keep it. The module of
// the C library does not show `statx`.
static inline long long mesh_birth_time(const char *path) {
  struct statx found;
  if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &found) != 0) return 0;
  if (!(found.stx_mask & STATX_BTIME)) return 0;
  return found.stx_btime.tv_sec * 1000000000LL + found.stx_btime.tv_nsec;
}

// Reads the first `count` bytes of the main database file (zeros beyond its end) through SQLite's own descriptor, and
// its length. Another descriptor must not be opened: closing it would drop the process's POSIX locks. The structs of a
// VFS are seen by Swift under whichever module showed them first, so this is C.
static inline int mesh_sqlite3_read_head(sqlite3 *db, void *bytes, int count, sqlite3_int64 *length) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (file == 0 || file->pMethods == 0) return SQLITE_CANTOPEN;
  code = file->pMethods->xFileSize(file, length);
  if (code != SQLITE_OK) return code;
  code = file->pMethods->xRead(file, bytes, count, 0);
  return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}
