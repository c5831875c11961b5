#include "record.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int log_descriptor = -1;
static const char *root;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("RECORD");
    root = getenv("RECORD_ROOT");
    if (path && root)
        log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, path,
                                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

int record_on(void)
{
    return log_descriptor >= 0;
}

/* Appends a line and the bytes behind it in one call, so that processes and threads may share the
 * log. The wrappers in faults.c must not see the call. */
static void put(const char *line, const void *bytes, size_t count)
{
    const struct iovec parts[] = {{(void *)line, strlen(line)}, {(void *)bytes, count}};
    if (syscall(SYS_writev, log_descriptor, parts, count > 0 ? 2 : 1) <= 0)
        log_descriptor = -1; /* a log with a hole would mislead: let it end here */
}

/* Writes `path` relative to the root into `inside`; returns 0 if it is outside the root. */
static int locate(const char *path, char inside[PATH_MAX])
{
    char full[PATH_MAX], folder[PATH_MAX];
    const size_t length = strlen(root);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    const char *name = slash ? path + (slash - folder) + 1 : path;
    if (slash)
        slash[slash == folder] = '\0';
    if (!realpath(slash ? folder : ".", full))
        return 0;
    if (strncmp(full, root, length) != 0 || (full[length] != '/' && full[length] != '\0'))
        return 0;
    snprintf(inside, PATH_MAX, "%s%s%s", full + length + (full[length] == '/'),
             full[length] == '/' ? "/" : "", name);
    return 1;
}

static int locate_descriptor(int descriptor, char inside[PATH_MAX])
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return 0;
    path[length] = '\0';
    if (strcmp(path, root) == 0) {
        inside[0] = '\0';
        return 1;
    }
    return locate(path, inside);
}

static void put_line(const char *what, const char *inside, const char *rest, const void *bytes,
                     size_t count)
{
    char line[PATH_MAX + 96];
    snprintf(line, sizeof line, "%s %s%s\n", what, inside, rest);
    put(line, bytes, count);
}

static void put_path(const char *what, const char *path)
{
    char inside[PATH_MAX];
    if (record_on() && locate(path, inside))
        put_line(what, inside, "", NULL, 0);
}

void record_created(const char *path)
{
    put_path("create", path);
}

void record_unlinked(const char *path)
{
    put_path("unlink", path);
}

void record_made(const char *path)
{
    put_path("mkdir", path);
}

void record_written(int descriptor, const void *bytes, ssize_t count, off_t offset)
{
    char inside[PATH_MAX], numbers[64];
    if (!record_on() || count <= 0 || !locate_descriptor(descriptor, inside))
        return;
    snprintf(numbers, sizeof numbers, " %lld %zd", (long long)offset, count);
    put_line("write", inside, numbers, bytes, (size_t)count);
}

void record_cut(int descriptor, off_t size)
{
    char inside[PATH_MAX], number[32];
    snprintf(number, sizeof number, " %lld", (long long)size);
    if (record_on() && locate_descriptor(descriptor, inside))
        put_line("cut", inside, number, NULL, 0);
}

void record_content(const char *path)
{
    char inside[PATH_MAX], number[32];
    struct stat status;
    if (!record_on() || !locate(path, inside))
        return;
    const int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        char *bytes = malloc((size_t)status.st_size + 1);
        const ssize_t got = bytes ? pread(descriptor, bytes, (size_t)status.st_size, 0) : -1;
        snprintf(number, sizeof number, " %zd", got);
        if (got >= 0)
            put_line("content", inside, number, bytes, (size_t)got);
        free(bytes);
    }
    if (descriptor >= 0)
        close(descriptor);
}

void record_synced(int descriptor, int succeeded)
{
    char inside[PATH_MAX], path[2 * PATH_MAX];
    struct stat status;
    if (!record_on() || fstat(descriptor, &status) != 0 || !locate_descriptor(descriptor, inside))
        return;
    if (S_ISDIR(status.st_mode)) {
        if (succeeded)
            put_line("folder", inside, "", NULL, 0);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", root, inside);
    record_content(path);
    put_line(succeeded ? "sync" : "failed", inside, "", NULL, 0);
}

void record_renamed(const char *from, const char *to)
{
    char old[PATH_MAX], new[PATH_MAX];
    if (!record_on() || !locate(from, old) || !locate(to, new))
        return;
    char rest[PATH_MAX + 8];
    snprintf(rest, sizeof rest, "\n %s", new);
    put_line("rename", old, rest, NULL, 0);
}

__attribute__((destructor)) static void end(void)
{
    if (record_on())
        put("exit\n", NULL, 0);
}
