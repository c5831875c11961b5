#include "base/files/file_lock.h"

#include "base/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* Returns whether errno says that the file system has no locks. */
static bool has_no_locks(void)
{
    return errno == ENOLCK || errno == ENOTSUP || errno == ENOSYS || errno == EINVAL;
}

int file_lock(const char *path, struct error *error)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDWR | O_CREAT | O_NOFOLLOW, &status);
    while (descriptor >= 0 && flock(descriptor, LOCK_EX) != 0)
        if (errno != EINTR) {
            if (has_no_locks())
                break;
            error_set_errno(error, path, "check space and permissions", "cannot be locked");
            close(descriptor);
            return -1;
        }
    if (descriptor < 0)
        error_set_errno(error, path, "check space and permissions", "cannot be locked");
    return descriptor;
}
