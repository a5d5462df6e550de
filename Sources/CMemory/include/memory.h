#pragma once

// Has SQLite take its memory without a lock, and count for each thread what it takes on it. Only
// before anything else of SQLite is called; gives its code, SQLITE_OK or SQLITE_MISUSE.
int flotilla_count_memory(void);

// How many bytes SQLite has taken on this thread more than it has given back on it.
long flotilla_thread_memory(void);
