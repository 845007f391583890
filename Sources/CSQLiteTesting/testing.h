// What only tests and the simulator use of SQLite. Nothing that is installed links it.
#include "../CSQLite/shim.h"
#include "disk.h"
#include "pause.h"
