/* Faults at the door of the kernel. Preloaded, this library counts the file operations ("steps")
 * that a process makes under one folder, whoever makes them (Python, SQLite, Arrow), and does
 * something terrible at the k-th. Calls go straight to the kernel, so nothing can recurse. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, RENAME = 16, UNLINK = 32, TRUNCATE = 64, CHMOD = 128 };
enum deed { NOTHING, KILL_BEFORE, KILL_AFTER, TEAR, SHORTEN, FAIL, KEEP_FAILING, SIGNAL, VANISH };

static char folder[PATH_MAX];
static size_t folder_length;
static int kinds, deed, argument, journal = -1;
static long wanted;
static atomic_long steps;
static long clock_offset;
#define MANY 4096
static unsigned char watched[MANY];

/* Called by the process about to be hurt: at step `when` of the `mask` kinds under `where`. */
void soak_arm(const char *where, int mask, int what, int with, long when, int log)
{
    strncpy(folder, where, sizeof folder - 1);
    folder_length = strlen(folder);
    kinds = mask, deed = what, argument = with, wanted = when, journal = log;
    atomic_store(&steps, 0);
}
long soak_steps(void) { return atomic_load(&steps); }
void soak_clock(long seconds) { clock_offset = seconds; }

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }
static int inside(const char *path)
{
    return folder_length && path && !strncmp(path, folder, folder_length);
}
static int seen(int fd) { return fd >= 0 && fd < MANY && watched[fd]; }
static int note(int fd, const char *path)
{
    if (fd >= 0 && fd < MANY) watched[fd] = inside(path);
    return fd;
}

/* What this step meets: the deed if it is its turn, else nothing. */
static enum deed turn(enum kind kind)
{
    if (!(kinds & kind)) return NOTHING;
    long step = atomic_fetch_add(&steps, 1) + 1;
    if (deed == KEEP_FAILING ? step < wanted : step != wanted) return NOTHING;
    if (deed == KILL_BEFORE || (deed == TEAR && kind != WRITE)) die();
    if (deed == SIGNAL) kill(getpid(), argument);
    if (deed == VANISH) {
        char gone[PATH_MAX + 8];
        strcpy(gone, folder), strcat(gone, ".gone");
        syscall(SYS_renameat, AT_FDCWD, folder, AT_FDCWD, gone);
    }
    return deed;
}
#define STEP(kind, applies, call)                                                   \
    do {                                                                            \
        enum deed met = (applies) ? turn(kind) : NOTHING;                           \
        if (met == FAIL || met == KEEP_FAILING) { errno = argument; return -1; }    \
        long outcome = (call);                                                      \
        if (met == KILL_AFTER) die();                                               \
        return outcome;                                                             \
    } while (0)

/* The journal tells which bytes a power cut could lose: what was not yet synced, before and after. */
struct entry { char what; uint64_t inode, at, old_size, old_length, new_length; } __attribute__((packed));
static void tell(const void *data, size_t length) { syscall(SYS_write, journal, data, length); }
static void record(char what, int fd, uint64_t at, const void *data, size_t length)
{
    struct stat now;
    if (journal < 0 || !seen(fd) || fstat(fd, &now)) return;
    struct entry entry = {what, now.st_ino, at, now.st_size, 0, data ? length : 0};
    char link[64] = "/proc/self/fd/", digits[12], *d = digits + 11, *old = NULL;
    size_t end = what == 'T' ? (size_t)now.st_size : at + length;
    if (what != 'S' && at < (uint64_t)now.st_size && end > at) {
        *d = 0;
        for (int n = fd; n || d == digits + 11; n /= 10) *--d = '0' + n % 10;
        long again = syscall(SYS_openat, AT_FDCWD, strcat(link, d), O_RDONLY);
        old = malloc(end - at);
        long got = old ? syscall(SYS_pread64, again, old, end - at, at) : 0;
        entry.old_length = got > 0 ? got : 0;
        syscall(SYS_close, again);
    }
    tell(&entry, sizeof entry), tell(old, entry.old_length), tell(data, entry.new_length);
    free(old);
}

static long put(int fd, const void *data, size_t length, off_t at, int positioned)
{
    enum deed met = seen(fd) ? turn(WRITE) : NOTHING;
    if (met == FAIL || met == KEEP_FAILING) { errno = argument; return -1; }
    if ((met == TEAR || met == SHORTEN) && length > 1) length /= 2;
    uint64_t start = positioned ? (uint64_t)at : (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
    record('W', fd, start, data, length);
    long done = positioned ? syscall(SYS_pwrite64, fd, data, length, at)
                           : syscall(SYS_write, fd, data, length);
    if (met == TEAR || met == KILL_AFTER) die();
    return done;
}
ssize_t write(int fd, const void *data, size_t n) { return put(fd, data, n, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return put(fd, data, n, at, 1); }
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { return put(fd, data, n, at, 1); }

ssize_t read(int fd, void *data, size_t n) { STEP(READ, seen(fd), syscall(SYS_read, fd, data, n)); }
ssize_t pread(int fd, void *data, size_t n, off_t at) { STEP(READ, seen(fd), syscall(SYS_pread64, fd, data, n, at)); }
ssize_t pread64(int fd, void *data, size_t n, off_t at) { STEP(READ, seen(fd), syscall(SYS_pread64, fd, data, n, at)); }

static long sync_now(int fd, long number)
{
    long done = syscall(number, fd);
    if (!done) record('S', fd, 0, NULL, 0);
    return done;
}
int fsync(int fd) { STEP(SYNC, seen(fd), sync_now(fd, SYS_fsync)); }
int fdatasync(int fd) { STEP(SYNC, seen(fd), sync_now(fd, SYS_fdatasync)); }
static long cut(int fd, off_t size)
{
    record('T', fd, size, NULL, 0);
    return syscall(SYS_ftruncate, fd, size);
}
int ftruncate(int fd, off_t size) { STEP(TRUNCATE, seen(fd), cut(fd, size)); }
int ftruncate64(int fd, off_t size) { STEP(TRUNCATE, seen(fd), cut(fd, size)); }

static int opened(int where, const char *path, int flags, mode_t mode)
{
    STEP(OPEN, inside(path), note(syscall(SYS_openat, where, path, flags, mode), path));
}
#define MODE(flags, last)                                                   \
    mode_t mode = 0;                                                        \
    if ((flags) & O_CREAT) {                                                \
        va_list rest;                                                       \
        va_start(rest, last), mode = va_arg(rest, mode_t), va_end(rest);    \
    }
int open(const char *path, int flags, ...) { MODE(flags, flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int where, const char *path, int flags, ...) { MODE(flags, flags) return opened(where, path, flags, mode); }
int openat64(int where, const char *path, int flags, ...) { MODE(flags, flags) return opened(where, path, flags, mode); }
int close(int fd)
{
    if (fd >= 0 && fd < MANY) watched[fd] = 0;
    return syscall(SYS_close, fd);
}

int rename(const char *from, const char *to) { STEP(RENAME, inside(to), syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to)); }
int unlink(const char *path) { STEP(UNLINK, inside(path), syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }
int chmod(const char *path, mode_t mode) { STEP(CHMOD, inside(path), syscall(SYS_fchmodat, AT_FDCWD, path, mode)); }
int fchmod(int fd, mode_t mode) { STEP(CHMOD, seen(fd), syscall(SYS_fchmod, fd, mode)); }

int clock_gettime(clockid_t which, struct timespec *now)
{
    long done = syscall(SYS_clock_gettime, which, now);
    if (which == CLOCK_REALTIME) now->tv_sec += clock_offset;
    return done;
}
