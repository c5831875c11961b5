/* The lock file of a run: it is locked while the run is alive, and holds the number and the machine
 * of the process. */
#include "session/files/run_directory.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { TRIES = 100 };

/* Returns a descriptor, or -1 with errno, as file_open_if_regular does. */
static int open_lock(const char *directory, int flags)
{
    char *path = file_join(directory, "lock");
    struct stat status;
    const int descriptor = path ? file_open_if_regular(path, flags | O_NOFOLLOW, &status) : -1;
    free(path);
    return descriptor;
}

/* Tries several times, because a process that checks whether the run is alive holds the lock
 * for a moment. */
static bool take_lock(int descriptor)
{
    for (int tries = 0; tries < 5; tries++) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK)
            return false;
        clock_sleep(0.002);
    }
    errno = EWOULDBLOCK;
    return false;
}

/* Writes number and machine of this process; on a full disk the file stays empty. */
static void write_process(int descriptor)
{
    char text[192];
    struct host host;
    host_describe(&host);
    const int length = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), host.name);
    if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text, (size_t)length, 0) != length)
        return;
}

static long read_process(int descriptor)
{
    char text[24];
    const ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return strtol(text, NULL, 10);
}

static void refuse_held(const char *directory, long process, struct error *error)
{
    if (process > 0)
        error_set(error, ERROR_USAGE, directory, "wait for its end, or stop it",
                  "process %ld has a run there", process);
    else
        error_set(error, ERROR_USAGE, directory, "wait for its end, or stop it",
                  "another process has a run there");
}

/* Returns whether a process has locked the folder (run_hold.h), even if the lock file was removed.
 */
static bool is_held(const char *directory)
{
    const int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool held =
        descriptor >= 0 && flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (descriptor >= 0)
        close(descriptor);
    return held;
}

int run_directory_lock(const char *directory, struct error *error)
{
    const bool held = is_held(directory); /* then no new lock file is made */
    int descriptor = open_lock(directory, held ? O_RDONLY : O_RDWR | O_CREAT);
    if (held) {
        refuse_held(directory, descriptor < 0 ? 0 : read_process(descriptor), error);
        if (descriptor >= 0)
            close(descriptor);
        return -1;
    }
    if (descriptor >= 0 && take_lock(descriptor)) {
        write_process(descriptor);
        return descriptor;
    }
    if (descriptor >= 0 && errno == EWOULDBLOCK)
        refuse_held(directory, read_process(descriptor), error);
    else if (descriptor < 0 && errno == EINVAL)
        error_set(error, ERROR_INPUT, directory, "remove what lies there under that name",
                  "its file \"lock\" is not a regular file");
    else
        error_set_errno(error, directory, "check space and permissions", "cannot be locked");
    if (descriptor >= 0)
        close(descriptor);
    return -1;
}

bool run_directory_is_alive(const char *directory)
{
    if (is_held(directory))
        return true;
    /* A network file system reports the lock only to a descriptor that can write. */
    int descriptor = open_lock(directory, O_RDWR);
    if (descriptor < 0)
        descriptor = open_lock(directory, O_RDONLY);
    if (descriptor < 0)
        return false;
    bool alive = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return alive;
}
