/* Locks the lock file and the folder of a run with flock, and compares device and inode later, to
 * notice that either was removed or replaced. */
#include "session/files/run_hold.h"

#include "base/clock.h"
#include "session/files/run_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool run_hold_check(const struct run_hold *hold, const char *directory, struct error *error)
{
    struct stat status;
    const bool found = stat(directory, &status) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR)
        return true; /* a mount that is away for a moment: writing will say so */
    if (!found || !is_same(hold->directory, &status))
        return error_set(error, ERROR_SYSTEM, directory,
                         "train again, and leave its folder in place",
                         "the run's folder was removed or replaced while it was on");
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
