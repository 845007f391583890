// The number of calls of malloc since the program started.
long allocations(void);
