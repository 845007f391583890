// Facts about the write-ahead log that SQLite's interface does not give: its length, how much of it is copied, and the
// holders of its locks. Everything goes through SQLite's own file handle; another descriptor of the database or of its
// index would drop the process's POSIX locks when it closes. The layout is that of SQLite's "WAL-mode File Format",
// sections 2 and 3.
#include <stdint.h>
#include <string.h>

struct mesh_wal_index {
  uint32_t frames;     // in the log
  uint32_t copied;     // of them, into the database
  uint32_t page_size;  // bytes
  uint64_t salt;       // another one after every reset of the log
  uint32_t marks[5];   // the last frames that readers see; the first is of those who need no log; all ones: none
};

enum {
  MESH_WAL_WRITE_LOCK = 0,
  MESH_WAL_CHECKPOINT_LOCK = 1,
  MESH_WAL_INDEX_PAGE = 32768,
  MESH_WAL_HEADER_SIZE = 48,
  MESH_WAL_COPIED = 96,
  MESH_WAL_MARKS = 100,
};

static inline int mesh_wal_file(sqlite3 *db, sqlite3_file **file) {
  int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, file);
  if (code != SQLITE_OK) return code;
  return *file == 0 || (*file)->pMethods == 0 || (*file)->pMethods->iVersion < 2 ? SQLITE_CANTOPEN : SQLITE_OK;
}

// The connection must have read in WAL mode before. SQLITE_BUSY while another connection is writing the header.
static inline int mesh_wal_read_index(sqlite3 *db, struct mesh_wal_index *index) {
  sqlite3_file *file = 0;
  volatile void *page = 0;
  unsigned char first[MESH_WAL_HEADER_SIZE], second[MESH_WAL_HEADER_SIZE];
  int code = mesh_wal_file(db, &file);
  if (code == SQLITE_OK) code = file->pMethods->xShmMap(file, 0, MESH_WAL_INDEX_PAGE, 0, &page);
  if (code != SQLITE_OK) return code;
  if (page == 0) return SQLITE_CANTOPEN;
  memcpy(first, (const void *)page, sizeof first);
  file->pMethods->xShmBarrier(file);
  memcpy(second, (const char *)page + MESH_WAL_HEADER_SIZE, sizeof second);
  if (memcmp(first, second, sizeof first) != 0) return SQLITE_BUSY;
  uint16_t size;
  memcpy(&size, first + 14, sizeof size);
  index->page_size = (uint32_t)(size & 0xfe00) + ((uint32_t)(size & 1) << 16);
  memcpy(&index->frames, first + 16, sizeof index->frames);
  memcpy(&index->salt, first + 32, sizeof index->salt);
  memcpy(&index->copied, (const char *)page + MESH_WAL_COPIED, sizeof index->copied);
  memcpy(index->marks, (const char *)page + MESH_WAL_MARKS, sizeof index->marks);
  return SQLITE_OK;
}

// Has the disk keep what is in the log: what was committed without a sync survives a power cut from then on. Needs no lock.
static inline int mesh_wal_sync(sqlite3 *db) {
  sqlite3_file *log = 0;
  int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK) return code;
  return log == 0 || log->pMethods == 0 ? SQLITE_OK : log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
}

// Takes the write lock, unless this connection has it; SQLITE_BUSY while another has it. To be called in the
// connection's busy handler only: what it takes, SQLite takes as well in the attempt that follows, and gives back.
static inline int mesh_wal_take_write_lock(sqlite3 *db) {
  sqlite3_file *file = 0;
  int code = mesh_wal_file(db, &file);
  if (code != SQLITE_OK) return code;
  return file->pMethods->xShmLock(file, MESH_WAL_WRITE_LOCK, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
}

// SQLITE_BUSY while another connection has the lock. Holds it for a microsecond: who tries to get it just then is told that
// another has it, as may happen at any time.
static inline int mesh_wal_try_lock(sqlite3 *db, int lock) {
  sqlite3_file *file = 0;
  int code = mesh_wal_file(db, &file);
  if (code != SQLITE_OK) return code;
  code = file->pMethods->xShmLock(file, lock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED);
  if (code != SQLITE_OK) return code;
  return file->pMethods->xShmLock(file, lock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
}

static inline int mesh_wal_try_write_lock(sqlite3 *db) { return mesh_wal_try_lock(db, MESH_WAL_WRITE_LOCK); }
static inline int mesh_wal_try_checkpoint_lock(sqlite3 *db) { return mesh_wal_try_lock(db, MESH_WAL_CHECKPOINT_LOCK); }

// Keeps every other connection from opening the database, or gives that up. SQLITE_BUSY if another one has it open. The
// connection must have read in WAL mode before.
static inline int mesh_lock_database(sqlite3 *db, int on) {
  sqlite3_file *file = 0;
  int code = mesh_wal_file(db, &file);
  if (code != SQLITE_OK) return code;
  return on ? file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE) : file->pMethods->xUnlock(file, SQLITE_LOCK_SHARED);
}
