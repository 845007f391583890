// A disk in memory, as a VFS with the caller's clock and randomness: under it julianday('now') is whatever time a simulation
// says, and a power cut keeps, loses or tears what was not synced. C, because Swift sees the structs of a VFS under
// whichever module showed them first.
//
// Guard: one thread at a time uses a disk and the connections on it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef sqlite3_int64 (*mesh_disk_clock)(void *context);
typedef void (*mesh_disk_random)(void *context, int count, char *bytes);

// The size of the parts of a torn write, in bytes.
#define MESH_DISK_SECTOR 512

// Bytes that grow.
struct mesh_disk_bytes {
  unsigned char *bytes;
  sqlite3_int64 size, room;
};

// A write since the last sync: `length` bytes of the file's log, or a new size of the file where `length` is -1.
struct mesh_disk_write {
  sqlite3_int64 offset, length, data;
};

struct mesh_disk_file {
  struct mesh_disk_file *next;
  char *name;  // NULL: a temporary file
  int exists, durable_exists;
  struct mesh_disk_bytes seen;     // what programs read
  struct mesh_disk_bytes durable;  // what a power cut leaves at least
  struct mesh_disk_bytes log;      // the bytes of `writes`
  struct mesh_disk_bytes ghost;    // the file of this name that was deleted, while the directory may still have it
  int has_ghost;
  struct mesh_disk_write *writes;
  int write_count, write_room;
  // Locks of the file, and of the WAL's index, which is memory that connections share.
  int shared;
  void *reserved, *pending, *exclusive;
  void **regions;
  int region_count, index_users;
  int index_shared[SQLITE_SHM_NLOCK];
  void *index_exclusive[SQLITE_SHM_NLOCK];
};

struct mesh_disk {
  sqlite3_vfs vfs;  // the first member: one pointer is both
  sqlite3_io_methods methods;
  void *context;
  mesh_disk_clock milliseconds;
  mesh_disk_random random;
  char name[64];
  struct mesh_disk_file *files;
  int life;  // counts crashes: what was open before is of no use after
  int dead;
  sqlite3_int64 operations;  // writes, syncs, truncations, deletions
  sqlite3_int64 countdown;   // operations until the machine dies; 0: it does not
  int full_in, error_in;     // one write, or one operation, in that many fails; 0: none
  int error_left;            // failures left until the disk works again; -1: no bound
  sqlite3_int64 full_count, error_count;
  uint64_t state;  // of the generator
};

struct mesh_disk_handle {
  sqlite3_file base;
  struct mesh_disk *disk;
  struct mesh_disk_file *file;
  int lock, life, is_temporary, has_index;
  unsigned index_shared, index_exclusive;
};

static inline uint64_t mesh_disk_draw(struct mesh_disk *disk, uint64_t bound) {
  disk->state += 0x9e3779b97f4a7c15ULL;
  uint64_t word = disk->state;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return (word ^ (word >> 31)) % bound;
}

// MARK: Bytes

static inline int mesh_disk_reserve(struct mesh_disk_bytes *bytes, sqlite3_int64 size) {
  if (size <= bytes->room) return 1;
  sqlite3_int64 room = bytes->room < 4096 ? 4096 : bytes->room;
  while (room < size) room += room / 2;
  unsigned char *grown = (unsigned char *)realloc(bytes->bytes, (size_t)room);
  if (grown == 0) return 0;
  bytes->bytes = grown;
  bytes->room = room;
  return 1;
}

static inline int mesh_disk_put(
    struct mesh_disk_bytes *bytes, sqlite3_int64 offset, const void *from, sqlite3_int64 count) {
  if (!mesh_disk_reserve(bytes, offset + count)) return 0;
  if (offset > bytes->size) memset(bytes->bytes + bytes->size, 0, (size_t)(offset - bytes->size));
  memcpy(bytes->bytes + offset, from, (size_t)count);
  if (offset + count > bytes->size) bytes->size = offset + count;
  return 1;
}

static inline int mesh_disk_resize(struct mesh_disk_bytes *bytes, sqlite3_int64 size) {
  if (!mesh_disk_reserve(bytes, size)) return 0;
  if (size > bytes->size) memset(bytes->bytes + bytes->size, 0, (size_t)(size - bytes->size));
  bytes->size = size;
  return 1;
}

// MARK: Files

static inline struct mesh_disk_file *mesh_disk_find(struct mesh_disk *disk, const char *name) {
  for (struct mesh_disk_file *file = disk->files; file; file = file->next) {
    if (file->name && strcmp(file->name, name) == 0) return file;
  }
  return 0;
}

static inline struct mesh_disk_file *mesh_disk_make(struct mesh_disk *disk, const char *name) {
  struct mesh_disk_file *file = (struct mesh_disk_file *)calloc(1, sizeof(*file));
  if (file == 0) return 0;
  if (name && (file->name = strdup(name)) == 0) {
    free(file);
    return 0;
  }
  file->next = disk->files;
  disk->files = file;
  return file;
}

static inline void mesh_disk_drop_index(struct mesh_disk_file *file) {
  for (int i = 0; i < file->region_count; i++) free(file->regions[i]);
  free(file->regions);
  file->regions = 0;
  file->region_count = 0;
  file->index_users = 0;
  memset(file->index_shared, 0, sizeof(file->index_shared));
  memset(file->index_exclusive, 0, sizeof(file->index_exclusive));
}

static inline void mesh_disk_free_file(struct mesh_disk_file *file) {
  mesh_disk_drop_index(file);
  free(file->seen.bytes);
  free(file->durable.bytes);
  free(file->log.bytes);
  free(file->ghost.bytes);
  free(file->writes);
  free(file->name);
  free(file);
}

static inline int mesh_disk_note(
    struct mesh_disk_file *file, sqlite3_int64 offset, const void *from, sqlite3_int64 length) {
  if (file->name == 0) return 1;
  if (file->write_count == file->write_room) {
    int room = file->write_room ? file->write_room * 2 : 64;
    void *grown = realloc(file->writes, (size_t)room * sizeof(struct mesh_disk_write));
    if (grown == 0) return 0;
    file->writes = (struct mesh_disk_write *)grown;
    file->write_room = room;
  }
  struct mesh_disk_write write = {offset, length, file->log.size};
  if (length > 0 && !mesh_disk_put(&file->log, file->log.size, from, length)) return 0;
  file->writes[file->write_count++] = write;
  return 1;
}

static inline void mesh_disk_synced(struct mesh_disk_file *file) {
  for (int i = 0; i < file->write_count; i++) {
    struct mesh_disk_write *write = &file->writes[i];
    if (write->length < 0) {
      mesh_disk_resize(&file->durable, write->offset);
    } else {
      mesh_disk_put(&file->durable, write->offset, file->log.bytes + write->data, write->length);
    }
  }
  file->write_count = 0;
  file->log.size = 0;
}

// From now on, created files survive a power cut, and deleted ones are gone.
static inline void mesh_disk_sync_directory(struct mesh_disk *disk) {
  for (struct mesh_disk_file *file = disk->files; file; file = file->next) {
    file->durable_exists = file->exists;
    file->has_ghost = 0;
  }
}

// A file of this name that is made now is another one: nothing of the old one is in it.
static inline void mesh_disk_forget(struct mesh_disk_file *file) {
  if (file->durable_exists) {
    file->ghost.size = 0;
    mesh_disk_put(&file->ghost, 0, file->durable.bytes, file->durable.size);
    file->has_ghost = 1;
  }
  file->exists = file->durable_exists = 0;
  file->seen.size = file->durable.size = file->log.size = 0;
  file->write_count = 0;
}

// MARK: Faults

// Whether an operation may begin; else the code with which it fails. The crash decides which part of the last write stays.
static inline int mesh_disk_begin(struct mesh_disk *disk, int code) {
  if (disk->dead) return code;
  disk->operations++;
  if (disk->countdown > 0 && --disk->countdown == 0) {
    disk->dead = 1;
    return code;
  }
  if (disk->error_in && disk->error_left != 0 && mesh_disk_draw(disk, (uint64_t)disk->error_in) == 0) {
    if (disk->error_left > 0) disk->error_left--;
    disk->error_count++;
    return code;
  }
  return SQLITE_OK;
}

// A step outside of SQLite, of a program on the same machine. 0 where the machine has died.
static inline int mesh_disk_step(struct mesh_disk *disk) {
  if (disk->dead) return 0;
  if (disk->countdown > 0 && --disk->countdown == 0) disk->dead = 1;
  return !disk->dead;
}

static inline void mesh_disk_tear(struct mesh_disk *disk, struct mesh_disk_file *file, struct mesh_disk_write *write) {
  sqlite3_int64 done = 0;
  while (done < write->length) {
    sqlite3_int64 at = write->offset + done;
    sqlite3_int64 count = MESH_DISK_SECTOR - at % MESH_DISK_SECTOR;
    if (count > write->length - done) count = write->length - done;
    if (mesh_disk_draw(disk, 2)) mesh_disk_put(&file->durable, at, file->log.bytes + write->data + done, count);
    done += count;
  }
}

// Cuts the power of one file. Each write since the last sync stays in full, in some of its sectors, or not at all. After a
// truncation that is lost, nothing is there: later writes lie in other blocks.
static inline void mesh_disk_cut_power(struct mesh_disk *disk, struct mesh_disk_file *file) {
  for (int i = 0; i < file->write_count; i++) {
    struct mesh_disk_write *write = &file->writes[i];
    uint64_t fate = mesh_disk_draw(disk, 4);
    if (write->length < 0) {
      if (fate == 0) break;
      mesh_disk_resize(&file->durable, write->offset);
    } else if (fate == 1) {
      mesh_disk_tear(disk, file, write);
    } else if (fate > 1) {
      mesh_disk_put(&file->durable, write->offset, file->log.bytes + write->data, write->length);
    }
  }
  // The entry in the directory of a file that was made or deleted, and the directory not synced.
  int exists = file->durable_exists || (file->exists && mesh_disk_draw(disk, 2));
  if (!exists) file->durable.size = 0;
  if (!exists && file->has_ghost && mesh_disk_draw(disk, 2)) {
    exists = 1;
    mesh_disk_put(&file->durable, 0, file->ghost.bytes, file->ghost.size);
  }
  file->seen.size = 0;
  mesh_disk_put(&file->seen, 0, file->durable.bytes, file->durable.size);
  file->exists = file->durable_exists = exists;
  file->has_ghost = 0;
  file->write_count = 0;
  file->log.size = 0;
}

// The end of every program on the machine. With `loses` the power goes as well; else what was written is there.
static inline void mesh_disk_crash(struct mesh_disk *disk, int loses) {
  disk->life++;
  disk->dead = 0;
  disk->countdown = 0;
  for (struct mesh_disk_file **link = &disk->files; *link;) {
    struct mesh_disk_file *file = *link;
    file->shared = 0;
    file->reserved = file->pending = file->exclusive = 0;
    mesh_disk_drop_index(file);
    if (file->name && loses) mesh_disk_cut_power(disk, file);
    // A connection from before may still hold a temporary file.
    link = &file->next;
  }
}

// MARK: One open file

static inline struct mesh_disk_handle *mesh_disk_open_file(sqlite3_file *file) {
  return (struct mesh_disk_handle *)file;
}

static inline int mesh_disk_is_stale(struct mesh_disk_handle *handle) { return handle->life != handle->disk->life; }

static inline int mesh_disk_unlock(sqlite3_file *base, int level) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  struct mesh_disk_file *file = handle->file;
  if (mesh_disk_is_stale(handle) || handle->lock <= level) return SQLITE_OK;
  if (file->reserved == handle) file->reserved = 0;
  if (file->pending == handle) file->pending = 0;
  if (file->exclusive == handle) file->exclusive = 0;
  if (level == SQLITE_LOCK_NONE) file->shared--;
  handle->lock = level;
  return SQLITE_OK;
}

static inline int mesh_disk_lock(sqlite3_file *base, int level) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  struct mesh_disk_file *file = handle->file;
  if (mesh_disk_is_stale(handle)) return SQLITE_IOERR_LOCK;
  if (handle->lock >= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) {
    if (file->pending || file->exclusive) return SQLITE_BUSY;
    file->shared++;
  } else {
    if (file->reserved && file->reserved != handle) return SQLITE_BUSY;
    file->reserved = handle;
    if (level == SQLITE_LOCK_EXCLUSIVE) {
      file->pending = handle;
      handle->lock = SQLITE_LOCK_PENDING;
      if (file->shared > 1) return SQLITE_BUSY;
      file->exclusive = handle;
    }
  }
  handle->lock = level;
  return SQLITE_OK;
}

static inline int mesh_disk_check_reserved(sqlite3_file *base, int *result) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  *result = !mesh_disk_is_stale(handle) && handle->file->reserved != 0;
  return SQLITE_OK;
}

static inline int mesh_disk_read(sqlite3_file *base, void *into, int count, sqlite3_int64 offset) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  struct mesh_disk_bytes *seen = &handle->file->seen;
  if (mesh_disk_is_stale(handle) || handle->disk->dead) return SQLITE_IOERR_READ;
  sqlite3_int64 there = seen->size > offset ? seen->size - offset : 0;
  if (there > count) there = count;
  if (there > 0) memcpy(into, seen->bytes + offset, (size_t)there);
  if (there == count) return SQLITE_OK;
  memset((char *)into + there, 0, (size_t)(count - there));
  return SQLITE_IOERR_SHORT_READ;
}

static inline int mesh_disk_write(sqlite3_file *base, const void *from, int count, sqlite3_int64 offset) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  struct mesh_disk *disk = handle->disk;
  if (mesh_disk_is_stale(handle)) return SQLITE_IOERR_WRITE;
  int wasDead = disk->dead;
  int code = mesh_disk_begin(disk, SQLITE_IOERR_WRITE);
  // The write in which the machine dies may have got there, or some sectors of it.
  if (code != SQLITE_OK && !wasDead && disk->dead) {
    mesh_disk_note(handle->file, offset, from, count);
    if (mesh_disk_draw(disk, 2)) mesh_disk_put(&handle->file->seen, offset, from, count);
  }
  if (code != SQLITE_OK) return code;
  if (disk->full_in && mesh_disk_draw(disk, (uint64_t)disk->full_in) == 0) {
    disk->full_count++;
    return SQLITE_FULL;
  }
  if (!mesh_disk_note(handle->file, offset, from, count)) return SQLITE_IOERR_NOMEM;
  return mesh_disk_put(&handle->file->seen, offset, from, count) ? SQLITE_OK : SQLITE_IOERR_NOMEM;
}

static inline int mesh_disk_truncate(sqlite3_file *base, sqlite3_int64 size) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  if (mesh_disk_is_stale(handle)) return SQLITE_IOERR_TRUNCATE;
  int code = mesh_disk_begin(handle->disk, SQLITE_IOERR_TRUNCATE);
  if (code != SQLITE_OK) return code;
  if (!mesh_disk_note(handle->file, size, 0, -1)) return SQLITE_IOERR_NOMEM;
  return mesh_disk_resize(&handle->file->seen, size) ? SQLITE_OK : SQLITE_IOERR_NOMEM;
}

static inline int mesh_disk_sync(sqlite3_file *base, int flags) {
  (void)flags;
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  if (mesh_disk_is_stale(handle)) return SQLITE_IOERR_FSYNC;
  int code = mesh_disk_begin(handle->disk, SQLITE_IOERR_FSYNC);
  if (code != SQLITE_OK) return code;
  mesh_disk_synced(handle->file);
  // As the operating system's VFS does for a file that it has made.
  if (!handle->file->durable_exists) mesh_disk_sync_directory(handle->disk);
  return SQLITE_OK;
}

static inline int mesh_disk_file_size(sqlite3_file *base, sqlite3_int64 *size) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  if (mesh_disk_is_stale(handle) || handle->disk->dead) return SQLITE_IOERR_FSTAT;
  *size = handle->file->seen.size;
  return SQLITE_OK;
}

static inline int mesh_disk_control(sqlite3_file *base, int operation, void *argument) {
  (void)base, (void)operation, (void)argument;
  return SQLITE_NOTFOUND;
}

static inline int mesh_disk_sector_size(sqlite3_file *base) {
  (void)base;
  return MESH_DISK_SECTOR;
}

// Bytes beside those of a write are safe: what the operating system's VFS assumes as well.
static inline int mesh_disk_characteristics(sqlite3_file *base) {
  (void)base;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// MARK: The index of the WAL

static inline int mesh_disk_index_map(
    sqlite3_file *base, int region, int size, int extends, void volatile **memory) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  struct mesh_disk_file *file = handle->file;
  *memory = 0;
  if (mesh_disk_is_stale(handle)) return SQLITE_IOERR_SHMMAP;
  if (!handle->has_index) {
    handle->has_index = 1;
    file->index_users++;
  }
  if (region >= file->region_count) {
    if (!extends) return SQLITE_OK;
    void **regions = (void **)realloc(file->regions, (size_t)(region + 1) * sizeof(void *));
    if (regions == 0) return SQLITE_IOERR_NOMEM;
    file->regions = regions;
    while (file->region_count <= region) {
      if ((regions[file->region_count] = calloc(1, (size_t)size)) == 0) return SQLITE_IOERR_NOMEM;
      file->region_count++;
    }
  }
  *memory = file->regions[region];
  return SQLITE_OK;
}

static inline void mesh_disk_index_release(struct mesh_disk_handle *handle, int slot) {
  unsigned bit = 1u << slot;
  if (handle->index_shared & bit) handle->file->index_shared[slot]--;
  if (handle->index_exclusive & bit) handle->file->index_exclusive[slot] = 0;
  handle->index_shared &= ~bit;
  handle->index_exclusive &= ~bit;
}

static inline int mesh_disk_index_lock(sqlite3_file *base, int offset, int count, int flags) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  struct mesh_disk_file *file = handle->file;
  if (mesh_disk_is_stale(handle)) return flags & SQLITE_SHM_UNLOCK ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
  if (flags & SQLITE_SHM_UNLOCK) {
    for (int slot = offset; slot < offset + count; slot++) mesh_disk_index_release(handle, slot);
    return SQLITE_OK;
  }
  for (int slot = offset; slot < offset + count; slot++) {
    int own = (handle->index_shared >> slot) & 1;
    if (file->index_exclusive[slot] && file->index_exclusive[slot] != handle) return SQLITE_BUSY;
    if (flags & SQLITE_SHM_EXCLUSIVE && file->index_shared[slot] > own) return SQLITE_BUSY;
  }
  for (int slot = offset; slot < offset + count; slot++) {
    unsigned bit = 1u << slot;
    if (flags & SQLITE_SHM_EXCLUSIVE) {
      file->index_exclusive[slot] = handle;
      handle->index_exclusive |= bit;
    } else if (!(handle->index_shared & bit)) {
      file->index_shared[slot]++;
      handle->index_shared |= bit;
    }
  }
  return SQLITE_OK;
}

static inline void mesh_disk_index_barrier(sqlite3_file *base) { (void)base; }

static inline int mesh_disk_index_unmap(sqlite3_file *base, int deletes) {
  (void)deletes;
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  if (mesh_disk_is_stale(handle) || !handle->has_index) return SQLITE_OK;
  for (int slot = 0; slot < SQLITE_SHM_NLOCK; slot++) mesh_disk_index_release(handle, slot);
  handle->has_index = 0;
  if (--handle->file->index_users == 0) mesh_disk_drop_index(handle->file);
  return SQLITE_OK;
}

static inline int mesh_disk_close(sqlite3_file *base) {
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  mesh_disk_index_unmap(base, 0);
  mesh_disk_unlock(base, SQLITE_LOCK_NONE);
  if (handle->is_temporary) {
    for (struct mesh_disk_file **link = &handle->disk->files; *link; link = &(*link)->next) {
      if (*link != handle->file) continue;
      *link = handle->file->next;
      mesh_disk_free_file(handle->file);
      break;
    }
  }
  return SQLITE_OK;
}

// MARK: The VFS

static inline int mesh_disk_open(
    sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags, int *given) {
  struct mesh_disk *disk = (struct mesh_disk *)vfs;
  struct mesh_disk_handle *handle = mesh_disk_open_file(base);
  memset(handle, 0, sizeof(*handle));
  if (disk->dead) return SQLITE_CANTOPEN;
  struct mesh_disk_file *file = name ? mesh_disk_find(disk, name) : 0;
  if ((file == 0 || !file->exists) && !(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
  if (file == 0) file = mesh_disk_make(disk, name);
  if (file == 0) return SQLITE_NOMEM;
  file->exists = 1;
  handle->disk = disk;
  handle->file = file;
  handle->life = disk->life;
  handle->is_temporary = name == 0;
  handle->base.pMethods = &disk->methods;
  if (given) *given = flags;
  return SQLITE_OK;
}

static inline int mesh_disk_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
  struct mesh_disk *disk = (struct mesh_disk *)vfs;
  struct mesh_disk_file *file = mesh_disk_find(disk, name);
  if (file == 0 || !file->exists) return SQLITE_IOERR_DELETE_NOENT;
  int code = mesh_disk_begin(disk, SQLITE_IOERR_DELETE);
  if (code != SQLITE_OK) return code;
  mesh_disk_forget(file);
  if (syncs) mesh_disk_sync_directory(disk);
  return SQLITE_OK;
}

static inline int mesh_disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  struct mesh_disk_file *file = mesh_disk_find((struct mesh_disk *)vfs, name);
  // As the operating system's VFS: an empty file counts as none.
  *result = file && file->exists && (flags != SQLITE_ACCESS_EXISTS || file->seen.size > 0);
  return SQLITE_OK;
}

static inline int mesh_disk_full_name(sqlite3_vfs *vfs, const char *name, int room, char *result) {
  (void)vfs;
  if ((int)strlen(name) >= room) return SQLITE_CANTOPEN;
  strcpy(result, name);
  return SQLITE_OK;
}

// Milliseconds from the beginning of the Julian calendar, which SQLite counts from, to 1970.
#define MESH_JULIAN_1970 210866760000000LL

static inline int mesh_disk_time64(sqlite3_vfs *vfs, sqlite3_int64 *time) {
  struct mesh_disk *disk = (struct mesh_disk *)vfs;
  *time = disk->milliseconds(disk->context) + MESH_JULIAN_1970;
  return SQLITE_OK;
}

static inline int mesh_disk_time(sqlite3_vfs *vfs, double *days) {
  sqlite3_int64 time = 0;
  int code = mesh_disk_time64(vfs, &time);
  *days = (double)time / 86400000.0;
  return code;
}

static inline int mesh_disk_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  struct mesh_disk *disk = (struct mesh_disk *)vfs;
  disk->random(disk->context, count, bytes);
  return count;
}

static inline int mesh_disk_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return microseconds;
}

static inline void mesh_disk_set_methods(sqlite3_io_methods *methods) {
  methods->iVersion = 2;
  methods->xClose = mesh_disk_close;
  methods->xRead = mesh_disk_read;
  methods->xWrite = mesh_disk_write;
  methods->xTruncate = mesh_disk_truncate;
  methods->xSync = mesh_disk_sync;
  methods->xFileSize = mesh_disk_file_size;
  methods->xLock = mesh_disk_lock;
  methods->xUnlock = mesh_disk_unlock;
  methods->xCheckReservedLock = mesh_disk_check_reserved;
  methods->xFileControl = mesh_disk_control;
  methods->xSectorSize = mesh_disk_sector_size;
  methods->xDeviceCharacteristics = mesh_disk_characteristics;
  methods->xShmMap = mesh_disk_index_map;
  methods->xShmLock = mesh_disk_index_lock;
  methods->xShmBarrier = mesh_disk_index_barrier;
  methods->xShmUnmap = mesh_disk_index_unmap;
}

// Registers a disk under `name` (at most 63 bytes). `context` must outlive it. NULL where it cannot be made.
static inline struct mesh_disk *mesh_disk_register(
    const char *name, uint64_t seed, void *context, mesh_disk_clock milliseconds, mesh_disk_random random) {
  sqlite3_vfs *below = sqlite3_vfs_find(0);
  struct mesh_disk *disk = (struct mesh_disk *)calloc(1, sizeof(*disk));
  if (below == 0 || disk == 0 || below->iVersion < 2 || strlen(name) >= sizeof(disk->name)) {
    free(disk);
    return 0;
  }
  disk->vfs = *below;
  strcpy(disk->name, name);
  disk->vfs.pNext = 0;
  disk->vfs.zName = disk->name;
  disk->vfs.szOsFile = sizeof(struct mesh_disk_handle);
  disk->vfs.xOpen = mesh_disk_open;
  disk->vfs.xDelete = mesh_disk_delete;
  disk->vfs.xAccess = mesh_disk_access;
  disk->vfs.xFullPathname = mesh_disk_full_name;
  disk->vfs.xRandomness = mesh_disk_randomness;
  disk->vfs.xSleep = mesh_disk_sleep;
  disk->vfs.xCurrentTime = mesh_disk_time;
  disk->vfs.xCurrentTimeInt64 = mesh_disk_time64;
  mesh_disk_set_methods(&disk->methods);
  disk->context = context;
  disk->milliseconds = milliseconds;
  disk->random = random;
  disk->state = seed;
  if (sqlite3_vfs_register(&disk->vfs, 0) != SQLITE_OK) {
    free(disk);
    return 0;
  }
  return disk;
}

// Every connection on it must be closed.
static inline void mesh_disk_unregister(struct mesh_disk *disk) {
  sqlite3_vfs_unregister(&disk->vfs);
  while (disk->files) {
    struct mesh_disk_file *next = disk->files->next;
    mesh_disk_free_file(disk->files);
    disk->files = next;
  }
  free(disk);
}

// The files, from outside: for copies, and for their sizes.
static inline struct mesh_disk_file *mesh_disk_next(struct mesh_disk *disk, struct mesh_disk_file *file) {
  file = file ? file->next : disk->files;
  while (file && (file->name == 0 || !file->exists)) file = file->next;
  return file;
}

// Puts a whole file in place, durably. No connection may have it open.
static inline int mesh_disk_restore(struct mesh_disk *disk, const char *name, const void *bytes, sqlite3_int64 size) {
  struct mesh_disk_file *file = mesh_disk_find(disk, name);
  if (file == 0) file = mesh_disk_make(disk, name);
  if (file == 0) return 0;
  mesh_disk_forget(file);
  file->exists = 1;
  if (!mesh_disk_note(file, 0, bytes, size)) return 0;
  if (!mesh_disk_put(&file->seen, 0, bytes, size)) return 0;
  mesh_disk_synced(file);
  mesh_disk_sync_directory(disk);
  return 1;
}

static inline void mesh_disk_remove(struct mesh_disk *disk, const char *name) {
  struct mesh_disk_file *file = mesh_disk_find(disk, name);
  if (file == 0) return;
  mesh_disk_forget(file);
  mesh_disk_sync_directory(disk);
}
