#pragma once
#include <sys/types.h>

/// What happens at the chosen call.
enum crash_deed {
  CRASH_NOTHING = 0,
  /// SIGKILL before the call, or after it, or when half of a write is done.
  CRASH_KILL_BEFORE = 1,
  CRASH_KILL_AFTER = 2,
  CRASH_KILL_HALF = 3,
  /// The call fails, once or from then on.
  CRASH_EIO_ONCE = 4,
  CRASH_EIO_ON = 5,
  CRASH_ENOSPC_ONCE = 6,
  CRASH_ENOSPC_ON = 7,
};

/// One call that changes a file: its name's first letters and the end of the path.
struct crash_call {
  char name[10];
  char path[38];
};

#define CRASH_CALLS 20000

/// What is shared with the process that watches: it outlives a killed one.
struct crash_record {
  long count;
  /// The deed was done.
  long struck;
  struct crash_call calls[CRASH_CALLS];
};

/// Memory that children share.
struct crash_record *crash_shared_record(void);

/// What call number `index` (from 0) was: its name and the end of its path.
const char *crash_name(const struct crash_record *record, long index);
const char *crash_path(const struct crash_record *record, long index);

/// Counts calls on files under `folder` from now on and does `deed` at call number `at` (from 1).
void crash_arm(const char *folder, long at, int deed, struct crash_record *record);

/// fork(2), which Swift hides: only for a process of one thread.
pid_t crash_fork(void);
