#pragma once

// Has SQLite take its memory without a lock, and count for each thread what it takes on it. Only
// before anything else of SQLite is called, and before there is a second thread; else nothing
// changes.
void flotilla_count_memory(void);

// How many bytes SQLite holds: of those taken on this thread, or in this process.
long long flotilla_memory(void);

// Gives what is free in the heap back to the system.
void flotilla_give_back(void);
