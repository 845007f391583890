// A VFS that is the operating system's but for its clock and its randomness, which come from the caller: under it
// julianday('now') is whatever time a simulation says. C, because Swift sees the structs of a VFS under whichever module
// showed them first.
#include <stdlib.h>
#include <string.h>

typedef sqlite3_int64 (*mesh_vfs_clock)(void *context);
typedef void (*mesh_vfs_random)(void *context, int count, char *bytes);

// A copy of the default VFS, whose functions go on working on it. The VFS is the first member, so one pointer is both.
struct mesh_vfs {
  sqlite3_vfs vfs;
  void *context;
  mesh_vfs_clock milliseconds;
  mesh_vfs_random random;
  char name[64];
};

// Milliseconds from the beginning of the Julian calendar, which SQLite counts from, to 1970.
#define MESH_JULIAN_1970 210866760000000LL

static inline int mesh_vfs_time64(sqlite3_vfs *vfs, sqlite3_int64 *time) {
  struct mesh_vfs *own = (struct mesh_vfs *)vfs;
  *time = own->milliseconds(own->context) + MESH_JULIAN_1970;
  return SQLITE_OK;
}

static inline int mesh_vfs_time(sqlite3_vfs *vfs, double *days) {
  sqlite3_int64 time = 0;
  int code = mesh_vfs_time64(vfs, &time);
  *days = (double)time / 86400000.0;
  return code;
}

static inline int mesh_vfs_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  struct mesh_vfs *own = (struct mesh_vfs *)vfs;
  own->random(own->context, count, bytes);
  return count;
}

// Registers a VFS under `name` (at most 63 bytes). `context` must outlive it. NULL where it cannot be made.
static inline void *mesh_vfs_register(
    const char *name, void *context, mesh_vfs_clock milliseconds, mesh_vfs_random random) {
  sqlite3_vfs *below = sqlite3_vfs_find(0);
  struct mesh_vfs *own = (struct mesh_vfs *)calloc(1, sizeof(struct mesh_vfs));
  if (below == 0 || own == 0 || below->iVersion < 2 || strlen(name) >= sizeof(own->name)) {
    free(own);
    return 0;
  }
  own->vfs = *below;
  own->vfs.pNext = 0;
  strcpy(own->name, name);
  own->vfs.zName = own->name;
  own->vfs.xCurrentTimeInt64 = mesh_vfs_time64;
  own->vfs.xCurrentTime = mesh_vfs_time;
  own->vfs.xRandomness = mesh_vfs_randomness;
  own->context = context;
  own->milliseconds = milliseconds;
  own->random = random;
  if (sqlite3_vfs_register(&own->vfs, 0) != SQLITE_OK) {
    free(own);
    return 0;
  }
  return own;
}

// Every connection on it must be closed.
static inline void mesh_vfs_unregister(void *registered) {
  struct mesh_vfs *own = (struct mesh_vfs *)registered;
  sqlite3_vfs_unregister(&own->vfs);
  free(own);
}
