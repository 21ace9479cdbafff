/* Stands between a program and the C library (LD_PRELOAD): fails the N-th call of a kind, records what reaches
 * the disk, and moves the clock. It does nothing until it is told to, by the functions at the end, from inside.
 *
 * Only files below one folder are watched; allocations are those of the whole process, or of SQLite alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#undef open
#undef open64

enum { WRITE, SYNC, RENAME, OPEN, UNLINK, TRUNCATE, MALLOC, SQLMALLOC, KINDS };

#define FILES 4096
static char *names[FILES];          /* path of a watched descriptor */
static char root[PATH_MAX];         /* what is watched; empty: nothing */
static size_t root_length;
static long counts[KINDS];
static int armed = -1, broken, persistent, half;
static long target;
static int hits;
static double clock_offset;
static FILE *logged;                /* the record, where one is wanted */
static uintptr_t sql_low, sql_high; /* where SQLite's code lies */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
#define REAL(type, name, ...)                                                                                          \
    static type (*real_##name)(__VA_ARGS__);                                                                          \
    if (!real_##name) real_##name = next(#name)

/* Whether this call is the one that fails. */
static int fails(int kind) {
    if (armed != kind) { __sync_add_and_fetch(&counts[kind], 1); return 0; }
    long now = __sync_add_and_fetch(&counts[kind], 1);
    if (now == target || (persistent && now > target)) { hits++; return 1; }
    return 0;
}

static int below(const char *path) { return root_length && !strncmp(path, root, root_length); }

static int watched(int fd) { return root_length && fd >= 0 && fd < FILES && names[fd]; }

static void whole(int directory, const char *path, char *out) {
    if (path[0] == '/' || directory == AT_FDCWD) {
        if (path[0] == '/') snprintf(out, PATH_MAX, "%s", path);
        else { if (!getcwd(out, PATH_MAX)) out[0] = 0; size_t n = strlen(out); snprintf(out + n, PATH_MAX - n, "/%s", path); }
    } else snprintf(out, PATH_MAX, "%s/%s", watched(directory) ? names[directory] : "", path);
}

/* One line of the record: operation, path, two numbers, and the bytes that follow it. */
static void record(char what, const char *path, const char *other, long long offset, const void *data, size_t size) {
    if (!logged) return;
    pthread_mutex_lock(&lock);
    inside++;
    fprintf(logged, "%c\t%s\t%s\t%lld\t%zu\n", what, path, other, offset, size);
    if (size) fwrite(data, 1, size, logged);
    fputc('\n', logged);
    fflush(logged);
    inside--;
    pthread_mutex_unlock(&lock);
}

static void remember(int fd, const char *path) {
    if (fd >= 0 && fd < FILES) { free(names[fd]); names[fd] = strdup(path); }
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
    REAL(int, openat, int, const char *, int, ...);
    char full[PATH_MAX];
    if (inside || !root_length) return real_openat(directory, path, flags, mode);
    whole(directory, path, full);
    if (!below(full)) return real_openat(directory, path, flags, mode);
    if (fails(OPEN)) { errno = broken; return -1; }
    int fresh = (flags & O_CREAT) && access(full, F_OK) != 0;
    int fd = real_openat(directory, path, flags, mode);
    if (fd >= 0) {
        remember(fd, full);
        if (fresh) record('c', full, "", 0, NULL, 0);
        else if (flags & O_TRUNC) record('t', full, "", 0, NULL, 0);
    }
    return fd;
}

#define MODE va_list a; va_start(a, flags); mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(a, mode_t) : 0; va_end(a)
int open(const char *path, int flags, ...) { MODE; return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE; return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int d, const char *path, int flags, ...) { MODE; return opened(d, path, flags, mode); }
int openat64(int d, const char *path, int flags, ...) { MODE; return opened(d, path, flags | O_LARGEFILE, mode); }

int close(int fd) {
    REAL(int, close, int);
    if (fd >= 0 && fd < FILES && names[fd]) { char *old = names[fd]; names[fd] = NULL; free(old); }
    return real_close(fd);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    char full[PATH_MAX];
    whole(AT_FDCWD, path, full);
    if (!below(full)) return real_mkdir(path, mode);
    if (fails(OPEN)) { errno = broken; return -1; }
    int code = real_mkdir(path, mode);
    if (!code) record('m', full, "", 0, NULL, 0);
    return code;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (inside || !watched(fd)) return real_write(fd, data, size);
    if (fails(WRITE)) { if (half && size > 1) real_write(fd, data, size / 2); errno = broken; return -1; }
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = real_write(fd, data, size);
    if (done > 0) record('w', names[fd], "", at, data, done);
    return done;
}

static ssize_t put(int fd, const void *data, size_t size, off64_t offset) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    if (inside || !watched(fd)) return real_pwrite64(fd, data, size, offset);
    if (fails(WRITE)) { if (half && size > 1) real_pwrite64(fd, data, size / 2, offset); errno = broken; return -1; }
    ssize_t done = real_pwrite64(fd, data, size, offset);
    if (done > 0) record('w', names[fd], "", offset, data, done);
    return done;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return put(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return put(fd, data, size, offset); }

static int synced(int fd, int (*real)(int)) {
    if (inside || !watched(fd)) return real(fd);
    if (fails(SYNC)) { errno = broken; return -1; }
    int code = real(fd);
    if (!code) record('s', names[fd], "", 0, NULL, 0);
    return code;
}
int fsync(int fd) { REAL(int, fsync, int); return synced(fd, real_fsync); }
int fdatasync(int fd) { REAL(int, fdatasync, int); return synced(fd, real_fdatasync); }

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    char a[PATH_MAX], b[PATH_MAX];
    whole(AT_FDCWD, from, a); whole(AT_FDCWD, to, b);
    if (!below(b)) return real_rename(from, to);
    if (fails(RENAME)) { errno = broken; return -1; }
    int code = real_rename(from, to);
    if (!code) record('r', a, b, 0, NULL, 0);
    return code;
}
int renameat(int d, const char *from, int e, const char *to) {
    REAL(int, renameat, int, const char *, int, const char *);
    return d == AT_FDCWD && e == AT_FDCWD ? rename(from, to) : real_renameat(d, from, e, to);
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    char full[PATH_MAX];
    whole(AT_FDCWD, path, full);
    if (!below(full)) return real_unlink(path);
    if (fails(UNLINK)) { errno = broken; return -1; }
    int code = real_unlink(path);
    if (!code) record('u', full, "", 0, NULL, 0);
    return code;
}

static int cut(int fd, off64_t size) {
    REAL(int, ftruncate64, int, off64_t);
    if (inside || !watched(fd)) return real_ftruncate64(fd, size);
    if (fails(TRUNCATE)) { errno = broken; return -1; }
    int code = real_ftruncate64(fd, size);
    if (!code) record('t', names[fd], "", size, NULL, 0);
    return code;
}
int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }

/* Allocations. The C library's own entry points are called directly: dlsym would allocate. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static int starves(void *caller) {
    if (armed != MALLOC && armed != SQLMALLOC) return 0;
    if (armed == SQLMALLOC && ((uintptr_t)caller < sql_low || (uintptr_t)caller >= sql_high)) return 0;
    if (inside) return 0;
    return fails(armed);
}
void *malloc(size_t size) {
    if (starves(__builtin_return_address(0))) { errno = ENOMEM; return NULL; }
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    if (starves(__builtin_return_address(0))) { errno = ENOMEM; return NULL; }
    return __libc_calloc(n, size);
}
void *realloc(void *old, size_t size) {
    if (size && starves(__builtin_return_address(0))) { errno = ENOMEM; return NULL; }
    return __libc_realloc(old, size);
}

/* The wall clock; the monotonic one never jumps. */
int clock_gettime(clockid_t id, struct timespec *now) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int code = real_clock_gettime(id, now);
    if (!code && id == CLOCK_REALTIME) now->tv_sec += (time_t)clock_offset;
    return code;
}
int gettimeofday(struct timeval *now, void *zone) {
    REAL(int, gettimeofday, struct timeval *, void *);
    int code = real_gettimeofday(now, zone);
    if (!code) now->tv_sec += (time_t)clock_offset;
    return code;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

/* What a program calls. */
static int find_sqlite(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size; (void)data;
    if (!strstr(info->dlpi_name, "sqlite3.so") && !strstr(info->dlpi_name, "libsqlite3")) return 0;
    if (strstr(info->dlpi_name, "_sqlite3")) return 0; /* Python's own wrapper */
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            sql_low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            sql_high = sql_low + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

void fault_watch(const char *folder) {
    snprintf(root, sizeof root, "%s", folder ? folder : "");
    root_length = strlen(root);
    memset(counts, 0, sizeof counts);
}
void fault_arm(int kind, long n, int error, int forever, int half_written) {
    dl_iterate_phdr(find_sqlite, NULL);
    memset(counts, 0, sizeof counts);
    target = n; broken = error; persistent = forever; half = half_written; hits = 0;
    armed = kind;
}
void fault_disarm(void) { armed = -1; }
long fault_count(int kind) { return counts[kind]; }
int fault_hits(void) { return hits; }
void fault_clock(double seconds) { clock_offset = seconds; }
void fault_record(const char *path) {
    inside++;
    if (logged) fclose(logged);
    logged = path ? fopen(path, "w") : NULL;
    inside--;
}
void fault_mark(const char *text) { record('k', text, "", 0, NULL, 0); }

__attribute__((constructor)) static void begin(void) {
    const char *offset = getenv("FAULT_CLOCK");
    if (offset) clock_offset = atof(offset);
}
