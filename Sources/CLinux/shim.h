#pragma once
#include <fcntl.h>
#include <linux/stat.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <netinet/tcp.h>
#include <unistd.h>

/// The user id of the process at the other end of a UNIX-domain socket, or -1 with errno.
///
/// `struct ucred` needs _GNU_SOURCE before the first system header, which Swift cannot promise.
static inline long flotilla_peer_uid(int descriptor) {
  struct { int pid; unsigned int uid; unsigned int gid; } peer = {0, 0, 0};
  socklen_t length = sizeof(peer);
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
  return (long)peer.uid;
}

/// Whether the kernel takes the wall clock for synchronised.
///
/// The constants of adjtimex(2) are macros with casts.
static inline int flotilla_clock_is_synchronised(void) {
  struct timex status = {0};
  return adjtimex(&status) >= 0 && (status.status & STA_UNSYNC) == 0;
}

int accept4(int, struct sockaddr *, socklen_t *, int);

/// accept4(2), hidden behind _GNU_SOURCE as well, with the flag that keeps the new descriptor
/// from child processes.
static inline int flotilla_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
  return accept4(descriptor, address, length, SOCK_CLOEXEC);
}

/// When a file was made, in ns since 1970; 0 where the file system does not say. -1 with errno.
///
/// By its number, for statx(2) is hidden behind _GNU_SOURCE.
static inline long long flotilla_birth(const char *path) {
  struct statx status;
  if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_BTIME, &status) != 0) return -1;
  if (!(status.stx_mask & STATX_BTIME)) return 0;
  return status.stx_btime.tv_sec * 1000000000LL + status.stx_btime.tv_nsec;
}

/// Asks the disk to begin to write a part of a file (sync_file_range(2), hidden behind _GNU_SOURCE).
/// A hint: what fails shows at fsync(2).
static inline void flotilla_begin_writing(int descriptor, long long offset, long long length) {
  // SYNC_FILE_RANGE_WRITE is 2 in linux/fs.h.
  syscall(SYS_sync_file_range, descriptor, offset, length, 2u);
}
