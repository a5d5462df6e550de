#include "memory.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>

// SQLite's own count is one for all threads, under a lock that each malloc and free takes: some 40
// times for a row that is folded, and a twentieth of its time.

static _Thread_local long held;

static void *take(int count) {
  void *memory = malloc((size_t)count);
  if (memory) held += (long)malloc_usable_size(memory);
  return memory;
}

static void give(void *memory) {
  held -= (long)malloc_usable_size(memory);
  free(memory);
}

static void *retake(void *memory, int count) {
  long before = (long)malloc_usable_size(memory);
  void *grown = realloc(memory, (size_t)count);
  if (grown) held += (long)malloc_usable_size(grown) - before;
  return grown;
}

static int size(void *memory) { return memory ? (int)malloc_usable_size(memory) : 0; }
static int rounded(int count) { return (count + 7) & ~7; }
static int begin(void *data) { return (void)data, SQLITE_OK; }
static void end(void *data) { (void)data; }

static int is_counted;

void flotilla_count_memory(void) {
  static const sqlite3_mem_methods methods = {take, give, retake, size, rounded, begin, end, 0};
  is_counted = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
               sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}

// Of jemalloc, where somebody has put that in the place of glibc's heap (jemalloc(3), LD_PRELOAD).
int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

void flotilla_give_back(void) {
  // 4096 names all of its arenas (MALLCTL_ARENAS_ALL).
  if (mallctl) mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
  malloc_trim(0);
}

long long flotilla_memory(void) { return is_counted ? held : sqlite3_memory_used(); }
