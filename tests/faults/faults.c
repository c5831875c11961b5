/* faults.so, to be loaded before the program (LD_PRELOAD): calls of the system that fail.
 *
 * FAULT=CALL:N[:WHAT] makes the N-th call (counted from 1, over all threads) of CALL fail. CALL is
 * write (write(2), pwrite(2) and stdio's fwrite and fflush, on regular files), open (of files to be
 * written), fsync, rename, unlink (and unlinkat), mkdir, malloc (every way to allocate), thread
 * (pthread_create), or allocate (madvise that allocates memory), or read (open of files to be read;
 * it fails and counts on paths that FAULT_ONLY names). A failing malloc or thread needs no WHAT,
 * which is one of:
 * - an errno's name (ENOSPC, EDQUOT, EROFS, EIO, ESTALE): the call fails so, once;
 * - NAME+: and so do all later ones; NAME+M: and so do the next M;
 * - kill: the process is killed there; half of what was to be written is written;
 * - stop: the process stops there, as SIGSTOP does; when it goes on, so does the call; stop+M: it
 *   stops at the next M, too;
 * - hang: the call never returns, as with a disk that does not answer; other threads go on.
 *
 * A sync that fails drops what was written behind
 * the file's end at its last good sync, as Linux may do: there are zeros then, and the next sync
 * succeeds without complaint. FAULT_ONLY=PART: write fails and counts on files only whose path
 * contains PART, rename if the new path does, unlink and mkdir if theirs does. FAULT_COUNT=FILE
 * writes at the end how many calls there were. FAULT_AFTER=PART: calls fail and count only after a
 * file was renamed to a path that contains PART. GATE=PREFIX:FILE makes every thread that opens a
 * file or folder whose path begins so for reading wait until FILE exists, as a disk does that does
 * not answer. STOP_AT=MPI_Finalize stops the process when it calls this function, as SIGSTOP does.
 * RECORD and RECORD_ROOT keep a log of what is done to files (record.h); what a failing sync drops
 * is left in place then, for whoever reads the log.
 *
 * Compiled with WITHOUT_MEMORY, it leaves allocations to a sanitizer (malloc cannot fail then). The
 * sanitizer must be told that it is not the first library: ASAN_OPTIONS=verify_asan_link_order=0.
 */
#include "record.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum call { NONE, WRITE, OPEN, SYNC, RENAME, UNLINK, MKDIR, MALLOC, THREAD, ALLOCATE, READ };
static const char *const names[] = {"none",  "write",  "open",   "fsync",    "rename", "unlink",
                                    "mkdir", "malloc", "thread", "allocate", "read"};
static const struct {
    const char *name;
    int code;
} codes[] = {{"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
             {"EIO", EIO},       {"ESTALE", ESTALE}, {"EAGAIN", EAGAIN}};

static enum call chosen;
static long first, last;
static int code;
static int kills, stops, hangs;
static atomic_long calls;
static atomic_int armed; /* the rename that FAULT_AFTER names has been done */

#ifndef WITHOUT_MEMORY
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
#endif

static void read_what(const char *what)
{
    char *end = NULL;
    kills = strcmp(what, "kill") == 0;
    stops = strncmp(what, "stop", 4) == 0;
    hangs = strcmp(what, "hang") == 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strncmp(what, codes[i].name, strlen(codes[i].name)) == 0)
            code = codes[i].code;
    const char *plus = strchr(what, '+');
    if (!plus)
        return;
    last = first + strtol(plus + 1, &end, 10);
    if (end == plus + 1)
        last = __LONG_MAX__;
}

__attribute__((constructor)) static void begin(void)
{
    char name[16] = "";
    const char *fault = getenv("FAULT");
    int used = 0;
    if (!fault || sscanf(fault, "%15[a-z]:%ld%n", name, &first, &used) < 2)
        return;
    last = first;
    read_what(fault[used] ? fault + used + 1 : "");
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            chosen = (enum call)i;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    long count = atomic_load(&calls);
    chosen = NONE;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld\n", count);
    fclose(file);
}

/* Returns whether this call must fail, and sets errno. */
static int fails(enum call call)
{
    if (call != chosen || (getenv("FAULT_AFTER") && !atomic_load(&armed)))
        return 0;
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (n < first || n > last)
        return 0;
    if (stops) {
        raise(SIGSTOP);
        return 0;
    }
    while (hangs)
        sleep(1); /* whatever signals come */
    if (kills && call != WRITE)
        raise(SIGKILL);
    errno = code ? code : call == MALLOC ? ENOMEM : EAGAIN;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Returns whether the path is one that FAULT_ONLY names; without it, all are. */
static int is_chosen_path(const char *path)
{
    const char *only = getenv("FAULT_ONLY");
    return !only || strstr(path, only) != NULL;
}

static int is_chosen(int descriptor)
{
    char link[64], path[4096];
    if (!getenv("FAULT_ONLY"))
        return 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return is_chosen_path(path);
}

static int is_file(int descriptor)
{
    struct stat status;
    return descriptor > 2 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
           is_chosen(descriptor);
}

static ssize_t write_and_record(int descriptor, const void *bytes, size_t count,
                                ssize_t (*next)(int, const void *, size_t))
{
    const ssize_t done = next(descriptor, bytes, count);
    if (done > 0 && record_on() && is_file(descriptor))
        record_written(descriptor, bytes, done, lseek(descriptor, 0, SEEK_CUR) - done);
    return done;
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        next = NEXT(write);
    if (chosen != WRITE || !is_file(descriptor) || !fails(WRITE))
        return write_and_record(descriptor, bytes, count, next);
    if (kills) {
        write_and_record(descriptor, bytes, count / 2, next);
        raise(SIGKILL);
    }
    return -1;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (!next)
        next = NEXT(pwrite);
    if (chosen == WRITE && is_file(descriptor) && fails(WRITE)) {
        if (!kills)
            return -1;
        record_written(descriptor, bytes, next(descriptor, bytes, count / 2, offset), offset);
        raise(SIGKILL);
    }
    const ssize_t done = next(descriptor, bytes, count, offset);
    record_written(descriptor, bytes, done, offset);
    return done;
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
    static size_t (*next)(const void *, size_t, size_t, FILE *);
    if (!next)
        next = NEXT(fwrite);
    if (chosen != WRITE || !is_file(fileno(stream)) || !fails(WRITE))
        return next(bytes, size, count, stream);
    if (kills) {
        next(bytes, 1, size * count / 2, stream);
        NEXT(fflush)(stream);
        raise(SIGKILL);
    }
    /* the program checks fflush: it must fail, too */
    if (last < atomic_load(&calls) + 1)
        last = atomic_load(&calls) + 1;
    return 0;
}

int fflush(FILE *stream)
{
    static int (*next)(FILE *);
    if (!next)
        next = NEXT(fflush);
    if (chosen != WRITE || !stream || !is_file(fileno(stream)) || !fails(WRITE))
        return next(stream);
    if (kills)
        raise(SIGKILL);
    return EOF;
}

static int fail_open(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY && fails(OPEN);
}

static void wait_at_gate(const char *path, int flags)
{
    const char *gate = getenv("GATE"), *file = gate ? strrchr(gate, ':') : NULL;
    if (!file || (flags & O_ACCMODE) != O_RDONLY || strncmp(path, gate, (size_t)(file - gate)) != 0)
        return;
    while (access(file + 1, F_OK) != 0)
        usleep(10000);
}

DIR *opendir(const char *path)
{
    static DIR *(*next)(const char *);
    if (!next)
        next = NEXT(opendir);
    wait_at_gate(path, O_RDONLY);
    return next(path);
}

int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (!next)
        next = NEXT(open);
    wait_at_gate(path, flags);
    if (fail_open(flags))
        return -1;
    if (chosen == READ && (flags & O_ACCMODE) == O_RDONLY && is_chosen_path(path) && fails(READ))
        return -1;
    struct stat status;
    const int creates = record_on() && (flags & O_CREAT) && lstat(path, &status) != 0;
    const int descriptor = next(path, flags, mode);
    if (creates && descriptor >= 0)
        record_created(path);
    return descriptor;
}

int madvise(void *memory, size_t bytes, int advice)
{
    return advice == MADV_POPULATE_WRITE && fails(ALLOCATE) ? -1
                                                            : NEXT(madvise)(memory, bytes, advice);
}

/* The sizes of files at their last sync. The program syncs in one thread at a time. */
static struct {
    ino_t file;
    off_t size;
} synced[64];

static off_t *synced_size(ino_t file)
{
    size_t i = 0;
    while (i < 63 && synced[i].file != file && synced[i].file != 0)
        i++;
    synced[i].file = file;
    return &synced[i].size;
}

static void drop_unsynced(int descriptor)
{
    static const char zeros[4096];
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    const int saved = errno;
    for (off_t at = *synced_size(status.st_ino); at < status.st_size; at += (off_t)sizeof zeros) {
        const off_t left = status.st_size - at;
        const size_t count = left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros;
        if (NEXT(pwrite)(descriptor, zeros, count, at) < 0)
            break;
    }
    errno = saved;
}

static int sync_or_fail(int descriptor, int (*next)(int))
{
    struct stat status;
    if (chosen == SYNC && fails(SYNC)) {
        if (record_on())
            record_synced(descriptor, 0);
        else
            drop_unsynced(descriptor);
        return -1;
    }
    if (record_on()) {
        record_synced(descriptor, 1);
        return 0; /* a child process has no log */
    }
    const int result = next(descriptor);
    if (result == 0 && fstat(descriptor, &status) == 0)
        *synced_size(status.st_ino) = status.st_size;
    return result;
}

int fsync(int descriptor)
{
    static int (*next)(int);
    if (!next)
        next = NEXT(fsync);
    return sync_or_fail(descriptor, next);
}

int fdatasync(int descriptor)
{
    static int (*next)(int);
    if (!next)
        next = NEXT(fdatasync);
    return sync_or_fail(descriptor, next);
}

int rename(const char *from, const char *to)
{
    static int (*next)(const char *, const char *);
    if (!next)
        next = NEXT(rename);
    if (chosen == RENAME && is_chosen_path(to) && fails(RENAME))
        return -1;
    record_content(from);
    const int result = next(from, to);
    const char *after = getenv("FAULT_AFTER");
    if (result == 0)
        record_renamed(from, to);
    if (result == 0 && after && strstr(to, after))
        atomic_store(&armed, 1);
    return result;
}

int unlink(const char *path)
{
    if (chosen == UNLINK && is_chosen_path(path) && fails(UNLINK))
        return -1;
    const int result = NEXT(unlink)(path);
    if (result == 0)
        record_unlinked(path);
    return result;
}

int unlinkat(int folder, const char *name, int flags)
{
    char link[64], path[8192];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    const int watched = record_on() || chosen == UNLINK;
    ssize_t length = watched && folder >= 0 ? readlink(link, path, 4096) : -1;
    if (length > 0)
        snprintf(path + length, sizeof path - (size_t)length, "/%s", name);
    if (chosen == UNLINK && length > 0 && is_chosen_path(path) && fails(UNLINK))
        return -1;
    const int result = NEXT(unlinkat)(folder, name, flags);
    if (result == 0 && length > 0)
        record_unlinked(path);
    return result;
}

int rmdir(const char *path)
{
    const int result = NEXT(rmdir)(path);
    if (result == 0)
        record_unlinked(path);
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    if (chosen == MKDIR && is_chosen_path(path) && fails(MKDIR))
        return -1;
    const int result = NEXT(mkdir)(path, mode);
    if (result == 0)
        record_made(path);
    return result;
}

int ftruncate(int descriptor, off_t size)
{
    const int result = NEXT(ftruncate)(descriptor, size);
    if (result == 0)
        record_cut(descriptor, size);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        next = NEXT(pthread_create);
    return fails(THREAD) ? EAGAIN : next(thread, attributes, start, argument);
}

#ifndef WITHOUT_MEMORY
void *malloc(size_t size)
{
    return fails(MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (fails(MALLOC))
        return ENOMEM;
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
#endif

int MPI_Finalize(void);

int MPI_Finalize(void)
{
    const char *place = getenv("STOP_AT");
    if (place && strcmp(place, "MPI_Finalize") == 0)
        raise(SIGSTOP);
    return NEXT(MPI_Finalize)();
}
