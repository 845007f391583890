// Has one connection read its database, and read and write its write-ahead log, in blocks of 64 KiB instead of page by page, one or
// two calls of the system for each. For BLOBs of many megabytes the system's work for each page is most of what reading and writing
// them takes.
//
// Why nothing that others see can be wrong:
// - What is read is remembered within one snapshot only. SQLite takes or gives up a lock of the log's index at the beginning and
//   at the end of each; every such call forgets all that is not to be written.
// - What is to be written to the log belongs to whoever has the write lock. It goes to the file when the frame that ends a
//   transaction does (before SQLite can tell anybody of it, and with any error told), at every sync, and before any other call that
//   looks at the file; and it is dropped when the lock is given up, since then it was taken back, and others may write in its place.
// - What was written, and what is between that in a block, is written; nobody else writes meanwhile.
// - What a checkpoint copies goes to the database page by page: it may end with a write of which no later call could tell the error.

enum {
  // Bytes; SQLite's own file methods write at most 128 KiB less one byte at a time.
  MESH_BLOCK = 64 << 10,
  // Of each file: 1 MiB, for some readers and a writer that go forward side by side.
  MESH_BLOCKS = 16,
};

struct mesh_block {
  sqlite3_int64 start;  // in the file; -1: none
  int valid;            // bytes of it that the file has, or will have
  int dirty, dirty_end; // that are to be written; none where they are equal
  uint64_t used;
  unsigned char *bytes;
};

// The methods are the first member, so a file's pointer to them is one to all of it.
struct mesh_blocked_file {
  sqlite3_io_methods methods;
  const sqlite3_io_methods *own;
  sqlite3_file *file;
  struct mesh_blocks *all;
  int is_through;         // the frame that ends a transaction has come: nothing is kept back
  sqlite3_int64 last_end; // of what was read last: who goes on there gets a whole block
  uint64_t clock;
  struct mesh_block blocks[MESH_BLOCKS];
};

struct mesh_blocks {
  struct mesh_blocked_file log, main;
};

static inline int mesh_block_write(struct mesh_blocked_file *file, struct mesh_block *block) {
  if (block->dirty == block->dirty_end) return SQLITE_OK;
  int code = file->own->xWrite(
      file->file, block->bytes + block->dirty, block->dirty_end - block->dirty, block->start + block->dirty);
  if (code == SQLITE_OK) block->dirty = block->dirty_end = 0;
  return code;
}

static inline int mesh_blocks_write(struct mesh_blocked_file *file) {
  for (int index = 0; index < MESH_BLOCKS; index++) {
    int code = mesh_block_write(file, &file->blocks[index]);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

// Keeps what is to be written, unless it is dropped.
static inline void mesh_blocks_forget(struct mesh_blocked_file *file, int drops) {
  for (int index = 0; index < MESH_BLOCKS; index++) {
    struct mesh_block *block = &file->blocks[index];
    if (drops) block->dirty = block->dirty_end = 0;
    if (block->dirty == block->dirty_end) block->start = -1;
  }
  file->last_end = -1;
}

static inline struct mesh_block *mesh_blocks_find(struct mesh_blocked_file *file, sqlite3_int64 start) {
  for (int index = 0; index < MESH_BLOCKS; index++) {
    struct mesh_block *block = &file->blocks[index];
    if (block->start != start) continue;
    block->used = ++file->clock;
    return block;
  }
  return 0;
}

// Reads a block in the place of the one that was not used for longest.
static inline int mesh_blocks_load(struct mesh_blocked_file *file, sqlite3_int64 start, struct mesh_block **loaded) {
  struct mesh_block *block = &file->blocks[0];
  for (int index = 1; index < MESH_BLOCKS; index++) {
    if (file->blocks[index].used < block->used) block = &file->blocks[index];
  }
  int code = mesh_block_write(file, block);
  if (code != SQLITE_OK) return code;
  if (block->bytes == 0) block->bytes = (unsigned char *)malloc(MESH_BLOCK);
  if (block->bytes == 0) return SQLITE_NOMEM;
  block->start = -1;
  block->valid = MESH_BLOCK;
  code = file->own->xRead(file->file, block->bytes, MESH_BLOCK, start);
  if (code == SQLITE_IOERR_SHORT_READ) {
    sqlite3_int64 size = 0;
    code = file->own->xFileSize(file->file, &size);
    block->valid = size <= start ? 0 : size - start < MESH_BLOCK ? (int)(size - start) : MESH_BLOCK;
  }
  if (code != SQLITE_OK) return code;
  block->start = start;
  block->used = ++file->clock;
  *loaded = block;
  return SQLITE_OK;
}

static inline int mesh_blocks_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  unsigned char *place = (unsigned char *)bytes;
  int is_near = file->last_end >= 0 && offset - file->last_end < MESH_BLOCK && file->last_end - offset < MESH_BLOCK;
  int is_short = 0;
  file->last_end = offset + count;
  while (count > 0) {
    sqlite3_int64 start = offset / MESH_BLOCK * MESH_BLOCK;
    int from = (int)(offset - start), part = MESH_BLOCK - from < count ? MESH_BLOCK - from : count;
    struct mesh_block *block = mesh_blocks_find(file, start);
    if (block == 0 && is_near) {
      int code = mesh_blocks_load(file, start, &block);
      if (code != SQLITE_OK) return code;
    }
    if (block == 0) {
      int code = file->own->xRead(file->file, place, part, offset);
      if (code == SQLITE_IOERR_SHORT_READ) is_short = 1; else if (code != SQLITE_OK) return code;
    } else {
      int there = block->valid - from < 0 ? 0 : block->valid - from < part ? block->valid - from : part;
      memcpy(place, block->bytes + from, (size_t)there);
      memset(place + there, 0, (size_t)(part - there));
      if (there < part) is_short = 1;
    }
    place += part;
    offset += part;
    count -= part;
  }
  return is_short ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static inline int mesh_blocks_note(struct mesh_blocked_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  const unsigned char *place = (const unsigned char *)bytes;
  while (count > 0) {
    sqlite3_int64 start = offset / MESH_BLOCK * MESH_BLOCK;
    int from = (int)(offset - start), part = MESH_BLOCK - from < count ? MESH_BLOCK - from : count;
    struct mesh_block *block = mesh_blocks_find(file, start);
    if (block == 0) {
      int code = mesh_blocks_load(file, start, &block);
      if (code != SQLITE_OK) return code;
    }
    if (from > block->valid) memset(block->bytes + block->valid, 0, (size_t)(from - block->valid));
    memcpy(block->bytes + from, place, (size_t)part);
    if (from + part > block->valid) block->valid = from + part;
    int is_clean = block->dirty == block->dirty_end;
    if (is_clean || from < block->dirty) block->dirty = from;
    if (is_clean || from + part > block->dirty_end) block->dirty_end = from + part;
    place += part;
    offset += part;
    count -= part;
  }
  return SQLITE_OK;
}

// A frame of the log begins with 24 bytes: the page's number, and, where the frame ends a transaction, how many pages the database
// has then; else zero.
static inline int mesh_blocks_put(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  if (count == 24) {
    const unsigned char *head = (const unsigned char *)bytes;
    file->is_through = (head[4] | head[5] | head[6] | head[7]) != 0;
  }
  int code = mesh_blocks_note(file, bytes, count, offset);
  return code == SQLITE_OK && file->is_through ? mesh_blocks_write(file) : code;
}

static inline int mesh_blocks_sync(sqlite3_file *base, int flags) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  int code = mesh_blocks_write(file);
  return code == SQLITE_OK ? file->own->xSync(base, flags) : code;
}

static inline int mesh_blocks_truncate(sqlite3_file *base, sqlite3_int64 size) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  int code = mesh_blocks_write(file);
  mesh_blocks_forget(file, 0);
  return code == SQLITE_OK ? file->own->xTruncate(base, size) : code;
}

static inline int mesh_blocks_size(sqlite3_file *base, sqlite3_int64 *size) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  int code = mesh_blocks_write(file);
  return code == SQLITE_OK ? file->own->xFileSize(base, size) : code;
}

// The database's file has the locks of the log's index.
static inline int mesh_blocks_lock(sqlite3_file *base, int first, int count, int flags) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  int is_given_up = flags == (SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE) && first == MESH_WAL_WRITE_LOCK;
  mesh_blocks_forget(&file->all->log, is_given_up);
  mesh_blocks_forget(file, 0);
  return file->own->xShmLock(base, first, count, flags);
}

static inline int mesh_blocks_pass(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  mesh_blocks_forget(file, 0);
  return file->own->xWrite(base, bytes, count, offset);
}

// SQLite calls it before it tells others of a commit. Nothing is kept back then; should a later SQLite write the frames of a
// transaction in another order, what is still here goes to the file.
static inline void mesh_blocks_barrier(sqlite3_file *base) {
  struct mesh_blocked_file *file = (struct mesh_blocked_file *)base->pMethods;
  mesh_blocks_write(&file->all->log);
  file->own->xShmBarrier(base);
}

static inline void mesh_blocks_begin(struct mesh_blocks *all, struct mesh_blocked_file *file, sqlite3_file *base) {
  file->own = base->pMethods;
  file->methods = *base->pMethods;
  file->file = base;
  file->all = all;
  file->last_end = -1;
  file->methods.xRead = mesh_blocks_read;
  file->methods.xTruncate = mesh_blocks_truncate;
  if (file == &all->log) {
    file->methods.xWrite = mesh_blocks_put;
    file->methods.xSync = mesh_blocks_sync;
    file->methods.xFileSize = mesh_blocks_size;
  } else {
    file->methods.xWrite = mesh_blocks_pass;
    file->methods.xShmLock = mesh_blocks_lock;
    file->methods.xShmBarrier = mesh_blocks_barrier;
  }
  for (int index = 0; index < MESH_BLOCKS; index++) file->blocks[index].start = -1;
  base->pMethods = &file->methods;
}

// Until `mesh_blocks_remove`, which is to come before the connection closes. The connection must have read in WAL mode before. NULL
// where it cannot be done, or is done already.
static inline void *mesh_blocks_install(sqlite3 *db) {
  sqlite3_file *main = 0, *log = 0;
  if (mesh_wal_file(db, &main) != SQLITE_OK || main->pMethods->xRead == mesh_blocks_read) return 0;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK) return 0;
  if (log == 0 || log->pMethods == 0) return 0;
  struct mesh_blocks *all = (struct mesh_blocks *)calloc(1, sizeof(struct mesh_blocks));
  if (all == 0) return 0;
  mesh_blocks_begin(all, &all->main, main);
  mesh_blocks_begin(all, &all->log, log);
  return all;
}

static inline int mesh_blocks_end(struct mesh_blocked_file *file) {
  int code = mesh_blocks_write(file);
  file->file->pMethods = file->own;
  for (int index = 0; index < MESH_BLOCKS; index++) free(file->blocks[index].bytes);
  return code;
}

// What is left to write is written. Where that fails the transaction that is under way must be rolled back.
static inline int mesh_blocks_remove(void *installed) {
  struct mesh_blocks *all = (struct mesh_blocks *)installed;
  int log = mesh_blocks_end(&all->log), main = mesh_blocks_end(&all->main);
  free(all);
  return log != SQLITE_OK ? log : main;
}
