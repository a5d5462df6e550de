// Stands before the calls of the C library that change files: counts those on files under one
// folder and, at the chosen one, kills the process or makes the call fail. Linked into the runner,
// and preloaded (LD_PRELOAD) into programs that take their orders from the environment.
#define _GNU_SOURCE
// With 64 bits as the default, `pwrite` would only be another name of `pwrite64`.
#undef _FILE_OFFSET_BITS
#include "CrashShim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];
static size_t folder_length;
static long strike_at;
static int strike_deed;
static struct crash_record *record;
static int is_armed;

enum kind { WRITE, SYNC, SHRINK, REMOVE, MAKE };

// What the caller of `enter` is to do.
enum order { GO, FAIL, GO_AND_DIE, HALF_AND_DIE };

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int is_ours(const char *path) {
  return is_armed && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == 0);
}

static int is_path_ours(int base, const char *path) {
  if (!is_armed) return 0;
  if (path[0] == '/') return is_ours(path);
  char full[PATH_MAX], link[64];
  snprintf(link, sizeof link, base == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", base);
  ssize_t length = readlink(link, full, sizeof full - 1);
  if (length < 0) return 0;
  full[length] = 0;
  return is_ours(full);
}

static int is_file_ours(int descriptor, char *path, size_t size) {
  if (!is_armed) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_ours(path);
}

static int fails_here(int deed, enum kind kind) {
  int is_full = deed == CRASH_ENOSPC_ONCE || deed == CRASH_ENOSPC_ON;
  return !is_full || kind == WRITE || kind == SYNC || kind == MAKE;
}

static enum order enter(const char *name, const char *path, enum kind kind) {
  long number = __atomic_add_fetch(&record->count, 1, __ATOMIC_SEQ_CST);
  if (number <= CRASH_CALLS) {
    struct crash_call *call = &record->calls[number - 1];
    size_t length = strlen(path), room = sizeof call->path - 1;
    snprintf(call->name, sizeof call->name, "%s", name);
    snprintf(call->path, sizeof call->path, "%s", length > room ? path + length - room : path);
  }
  int lasts = strike_deed == CRASH_EIO_ON || strike_deed == CRASH_ENOSPC_ON;
  if (strike_at == 0 || number < strike_at || (number > strike_at && !lasts)) return GO;
  switch (strike_deed) {
    case CRASH_KILL_BEFORE: record->struck = 1; die();
    case CRASH_KILL_AFTER: return GO_AND_DIE;
    case CRASH_KILL_HALF: return kind == WRITE ? HALF_AND_DIE : GO_AND_DIE;
    case CRASH_NOTHING: return GO;
    default:
      if (!fails_here(strike_deed, kind)) return GO;
      record->struck = 1;
      errno = strike_deed >= CRASH_ENOSPC_ONCE ? ENOSPC : EIO;
      return FAIL;
  }
}

static void leave(enum order order) {
  if (order != GO_AND_DIE && order != HALF_AND_DIE) return;
  record->struck = 1;
  die();
}

// Runs `call` under the order for it; the value of the function is its result.
#define GUARDED(name, path, kind, call) \
  do { \
    enum order order = enter(name, path, kind); \
    if (order == FAIL) return -1; \
    __typeof__(call) result = (call); \
    leave(order); \
    return result; \
  } while (0)

#define HALF(order, length) ((order) == HALF_AND_DIE ? (length) / 2 : (length))

ssize_t write(int descriptor, const void *bytes, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) return real(descriptor, bytes, length);
  enum order order = enter("write", path, WRITE);
  if (order == FAIL) return -1;
  ssize_t result = real(descriptor, bytes, HALF(order, length));
  leave(order);
  return result;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) {
    return real(descriptor, bytes, length, offset);
  }
  enum order order = enter("pwrite", path, WRITE);
  if (order == FAIL) return -1;
  ssize_t result = real(descriptor, bytes, HALF(order, length), offset);
  leave(order);
  return result;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) {
    return real(descriptor, bytes, length, offset);
  }
  enum order order = enter("pwrite", path, WRITE);
  if (order == FAIL) return -1;
  ssize_t result = real(descriptor, bytes, HALF(order, length), offset);
  leave(order);
  return result;
}

int fsync(int descriptor) {
  REAL(int, "fsync", int);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) return real(descriptor);
  GUARDED("fsync", path, SYNC, real(descriptor));
}

int fdatasync(int descriptor) {
  REAL(int, "fdatasync", int);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) return real(descriptor);
  GUARDED("fdatasync", path, SYNC, real(descriptor));
}

int ftruncate(int descriptor, off_t length) {
  REAL(int, "ftruncate", int, off_t);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) return real(descriptor, length);
  GUARDED("ftruncate", path, SHRINK, real(descriptor, length));
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(int, "ftruncate64", int, off64_t);
  char path[PATH_MAX];
  if (!is_file_ours(descriptor, path, sizeof path)) return real(descriptor, length);
  GUARDED("ftruncate", path, SHRINK, real(descriptor, length));
}

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  if (!is_path_ours(AT_FDCWD, from)) return real(from, to);
  GUARDED("rename", to, MAKE, real(from, to));
}

int renameat(int from_base, const char *from, int to_base, const char *to) {
  REAL(int, "renameat", int, const char *, int, const char *);
  if (!is_path_ours(from_base, from)) return real(from_base, from, to_base, to);
  GUARDED("rename", to, MAKE, real(from_base, from, to_base, to));
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  if (!is_path_ours(AT_FDCWD, path)) return real(path);
  GUARDED("unlink", path, REMOVE, real(path));
}

int unlinkat(int base, const char *path, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  if (!is_path_ours(base, path)) return real(base, path, flags);
  GUARDED("unlink", path, REMOVE, real(base, path, flags));
}

int remove(const char *path) {
  REAL(int, "remove", const char *);
  if (!is_path_ours(AT_FDCWD, path)) return real(path);
  GUARDED("unlink", path, REMOVE, real(path));
}

int rmdir(const char *path) {
  REAL(int, "rmdir", const char *);
  if (!is_path_ours(AT_FDCWD, path)) return real(path);
  GUARDED("rmdir", path, REMOVE, real(path));
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  if (!is_path_ours(AT_FDCWD, path)) return real(path, mode);
  GUARDED("mkdir", path, MAKE, real(path, mode));
}

// Only an open that makes a file, or empties one, changes anything.
static int is_making(int base, const char *path, int flags) {
  if (!is_armed || !(flags & (O_CREAT | O_TRUNC)) || !is_path_ours(base, path)) return 0;
  return (flags & O_TRUNC) || faccessat(base, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  REAL(int, "open", const char *, int, ...);
  MODE(flags);
  if (!is_making(AT_FDCWD, path, flags)) return real(path, flags, mode);
  GUARDED("open", path, MAKE, real(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
  REAL(int, "open64", const char *, int, ...);
  MODE(flags);
  if (!is_making(AT_FDCWD, path, flags)) return real(path, flags, mode);
  GUARDED("open", path, MAKE, real(path, flags, mode));
}

int openat(int base, const char *path, int flags, ...) {
  REAL(int, "openat", int, const char *, int, ...);
  MODE(flags);
  if (!is_making(base, path, flags)) return real(base, path, flags, mode);
  GUARDED("open", path, MAKE, real(base, path, flags, mode));
}

struct crash_record *crash_shared_record(void) {
  void *memory = mmap(NULL, sizeof(struct crash_record), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

const char *crash_name(const struct crash_record *shared, long index) {
  return shared->calls[index].name;
}

const char *crash_path(const struct crash_record *shared, long index) {
  return shared->calls[index].path;
}

void crash_arm(const char *place, long at, int deed, struct crash_record *shared) {
  snprintf(folder, sizeof folder, "%s", place);
  folder_length = strlen(folder);
  strike_at = at;
  strike_deed = deed;
  record = shared;
  record->count = 0;
  record->struck = 0;
  is_armed = 1;
}

pid_t crash_fork(void) {
  pid_t child = fork();
  // Nobody waits for the children of a runner that was ended.
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

// Orders for a program that this was preloaded into: FOLDER AT DEED RECORD, the last a file that
// is long enough.
__attribute__((constructor)) static void arm_from_environment(void) {
  const char *place = getenv("CRASH_FOLDER"), *at = getenv("CRASH_AT");
  const char *deed = getenv("CRASH_DEED"), *file = getenv("CRASH_RECORD");
  if (!place || !at || !deed || !file) return;
  // What this process starts is not meant.
  unsetenv("LD_PRELOAD");
  int descriptor = open(file, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  void *memory = mmap(NULL, sizeof(struct crash_record), PROT_READ | PROT_WRITE, MAP_SHARED,
                      descriptor, 0);
  close(descriptor);
  if (memory != MAP_FAILED) crash_arm(place, atol(at), atoi(deed), memory);
}
