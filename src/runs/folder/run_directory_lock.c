/* The lock file of a run: it is locked while the run is alive, and holds the number and the machine
 * of the process. */
#include "runs/folder/run_directory.h"

#include "base/clock.h"
#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/host/host.h"
#include "base/language.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/* Returns whether a process has locked the folder, even if the lock file was removed.
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

/* --- the locks of a run that is trained --- */

/* Locks the lock file and the folder of a run with flock, and compares device and inode later, to
 * notice that either was removed or replaced. */

static int open_directory(const char *directory)
{
    return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Locks the folder. Returns false if another process has locked it. Tries several times, because a
 * check locks for a moment. A folder that cannot be locked counts as locked. */
static bool lock_directory(int descriptor)
{
    for (int tries = 0; tries < 5; tries++) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return true;
        clock_sleep(0.002);
    }
    return false;
}

bool run_hold_take(struct run_hold *hold, const char *directory, struct error *error)
{
    *hold = (struct run_hold){.lock = run_directory_lock(directory, error), .directory = -1};
    if (hold->lock < 0)
        return false;
    bool held = false;
    hold->directory = open_directory(directory);
    if (hold->directory < 0)
        error_set_errno(error, directory, "check its permissions", "cannot be locked");
    else if (lock_directory(hold->directory))
        held = run_hold_check(hold, directory, error);
    else
        error_set(error, ERROR_USAGE, directory, "wait for its end, or stop it",
                  "another process has a run there");
    if (held)
        return true;
    run_hold_release(hold);
    return false;
}

/* Returns whether a descriptor refers to the file with this status. */
static bool is_same(int descriptor, const struct stat *there)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_dev == there->st_dev &&
           status.st_ino == there->st_ino;
}

/* Writes where the locked folder is now. Returns false if it was deleted, or /proc does not tell.
 */
static bool find_moved(const struct run_hold *hold, char *path, size_t size)
{
    static const char deleted[] = " (deleted)";
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", hold->directory);
    const ssize_t length = readlink(link, path, size - 1);
    const size_t end = sizeof deleted - 1;
    path[length > 0 ? length : 0] = '\0';
    struct stat status;
    return length > 0 && !((size_t)length > end && strcmp(path + length - end, deleted) == 0) &&
           stat(path, &status) == 0 && is_same(hold->directory, &status);
}

/* Reports that the folder is not at its path any more, and what can be done about it. */
static bool refuse_gone(const struct run_hold *hold, const char *directory, struct error *error)
{
    char path[PATH_MAX], operand[200], advice[sizeof error->advice];
    if (!find_moved(hold, path, sizeof path))
        return error_set(error, ERROR_SYSTEM, directory,
                         "train again, and leave its folder in place",
                         "the run's folder was removed or replaced while it was on");
    snprintf(advice, sizeof advice, _("tinca resume %s goes on from its last checkpoint"),
             shell_operand(path, operand, sizeof operand));
    return error_set(error, ERROR_SYSTEM, directory, advice,
                     "the run's folder was moved to %s while it was on", path);
}

bool run_hold_check(const struct run_hold *hold, const char *directory, struct error *error)
{
    struct stat status;
    const bool found = stat(directory, &status) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR)
        return true; /* a mount that is away for a moment: writing will say so */
    if (!found || !is_same(hold->directory, &status))
        return refuse_gone(hold, directory, error);
    if (fstatat(hold->directory, "lock", &status, AT_SYMLINK_NOFOLLOW) == 0)
        return is_same(hold->lock, &status) ||
               error_set(error, ERROR_SYSTEM, directory, "see which process has the run now",
                         "the run's lock file was replaced while it was on");
    return errno != ENOENT || error_set(error, ERROR_SYSTEM, directory,
                                        "tinca resume goes on from its last checkpoint",
                                        "the run's lock file was removed while it was on");
}

void run_hold_release(struct run_hold *hold)
{
    if (hold->directory >= 0)
        close(hold->directory);
    if (hold->lock >= 0)
        close(hold->lock);
    *hold = (struct run_hold){.lock = -1, .directory = -1};
}
