/* A disk that fails on demand, for whoever preloads it (LD_PRELOAD). It sees the calls on files below one folder and leaves all others
 * alone: the n-th write, sync or open after faulty_disk_arm fails with the given errno, and all that follow too where it is told so.
 *
 * With a second folder it also keeps what a loss of power would leave of each file: its contents as of its last successful sync. A file
 * that was unlinked comes back, unless its folder was synced since. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITES, SYNCS, OPENS, KINDS };
enum { MOST_FILES = 4096 };

static char folder[PATH_MAX];
static char synced_folder[PATH_MAX];
static char path_of[MOST_FILES][PATH_MAX];
static long calls[KINDS];
static int fails = -1, fails_with = 0, goes_on_failing = 0;
static long fails_at = 0;

void faulty_disk_watch(const char* below, const char* synced_copies) {
  snprintf(folder, sizeof folder, "%s", below);
  snprintf(synced_folder, sizeof synced_folder, "%s", synced_copies);
}

void faulty_disk_arm(int kind, long at, int with, int go_on) {
  memset(calls, 0, sizeof calls);
  fails = kind;
  fails_at = at;
  fails_with = with;
  goes_on_failing = go_on;
}

void faulty_disk_disarm(void) { fails = -1; }

long faulty_disk_calls(int kind) { return calls[kind]; }

static int watched(int file) { return file >= 0 && file < MOST_FILES && path_of[file][0] != 0; }

/* Whether this call has to fail. */
static int failing(int kind) {
  const long call = ++calls[kind];
  if (fails != kind || (goes_on_failing ? call < fails_at : call != fails_at)) return 0;
  errno = fails_with;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A synced folder has forgotten what was unlinked before. */
static void forget_unlinked(int folder_file) {
  DIR* copies = opendir(synced_folder);
  for (struct dirent* one; copies && (one = readdir(copies));)
    if (one->d_name[0] != '.' && faccessat(folder_file, one->d_name, F_OK, 0) != 0) unlinkat(dirfd(copies), one->d_name, 0);
  if (copies) closedir(copies);
}

static void keep_synced(int file) {
  struct stat about;
  if (synced_folder[0] == 0 || fstat(file, &about) != 0) return;
  if (S_ISDIR(about.st_mode)) return forget_unlinked(file);
  char target[2 * PATH_MAX];
  snprintf(target, sizeof target, "%s/%s", synced_folder, strrchr(path_of[file], '/') + 1);
  const int copy = REAL(open)(target, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  char block[65536];
  off_t at = 0;
  for (ssize_t got; (got = pread(file, block, sizeof block, at)) > 0; at += got)
    if (REAL(write)(copy, block, (size_t)got) != got) break;
  REAL(close)(copy);
}

static int opened(int file, const char* path) {
  if (file >= 0 && file < MOST_FILES) snprintf(path_of[file], PATH_MAX, "%s", path);
  return file;
}

static int is_below(const char* path) { return folder[0] != 0 && strncmp(path, folder, strlen(folder)) == 0; }

#define OPEN(name)                                      \
  int name(const char* path, int flags, ...) {          \
    va_list more;                                       \
    va_start(more, flags);                              \
    const mode_t mode = va_arg(more, mode_t);           \
    va_end(more);                                       \
    if (!is_below(path)) return REAL(name)(path, flags, mode); \
    if (failing(OPENS)) return -1;                      \
    return opened(REAL(name)(path, flags, mode), path); \
  }
OPEN(open)
OPEN(open64)

int close(int file) {
  if (watched(file)) path_of[file][0] = 0;
  return REAL(close)(file);
}

ssize_t write(int file, const void* from, size_t size) {
  if (watched(file) && failing(WRITES)) return -1;
  return REAL(write)(file, from, size);
}

#define PWRITE(name, offset)                                             \
  ssize_t name(int file, const void* from, size_t size, offset at) {     \
    if (watched(file) && failing(WRITES)) return -1;                     \
    return REAL(name)(file, from, size, at);                             \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name)                              \
  int name(int file) {                          \
    if (!watched(file)) return REAL(name)(file); \
    if (failing(SYNCS)) return -1;              \
    const int result = REAL(name)(file);        \
    if (result == 0) keep_synced(file);         \
    return result;                              \
  }
SYNC(fsync)
SYNC(fdatasync)
