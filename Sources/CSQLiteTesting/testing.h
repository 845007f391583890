// The simulated disk and the pauses of tests. Nothing that is installed links them.
#include "../CSQLite/shim.h"
#include "disk.h"
#include "pause.h"
