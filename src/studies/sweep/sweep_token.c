/* The token has a name that was never used, so no host can have cached that it does not exist; its
 * contents tell it from a file that another folder happens to have under that name. */
#include "studies/sweep/sweep_token.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/host.h"
#include "studies/sweep/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const double patience = 3; /* seconds */

int sweep_token_write(const struct sweep *sweep, struct sweep_token *token, struct error *error)
{
    struct host host;
    host_describe(&host);
    const unsigned long long now = clock_nanoseconds();
    *token = (struct sweep_token){0};
    snprintf(token->sweep, sizeof token->sweep, "%s", sweep->grid.name);
    snprintf(token->file, sizeof token->file, "ranks-%ld-%llx", (long)getpid(), now);
    snprintf(token->text, sizeof token->text, "%ld %llx %s\n", (long)getpid(), now, host.name);
    char *path = file_join(sweep->directory, token->file);
    int descriptor = -1;
    if (!path)
        error_set_memory(error, "a path", 0);
    else if (file_write(path, token->text, strlen(token->text), true, error) &&
             (descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
        error_set_errno(error, path, "check space and permissions", "cannot be opened");
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX | LOCK_NB); /* a file system without locks shows in the others */
    free(path);
    return descriptor;
}

void sweep_token_remove(const struct sweep *sweep, const struct sweep_token *token, int descriptor)
{
    char *path = file_join(sweep->directory, token->file);
    if (path)
        unlink(path);
    free(path);
    close(descriptor);
}

/* Returns whether the file has the token's text, and whether it is locked. */
static bool is_token(const char *path, const struct sweep_token *token, bool *locked)
{
    char text[sizeof token->text] = "";
    /* a network file system reports the lock only to a descriptor that can write */
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return false;
    const ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    const bool same = length > 0 && strcmp(text, token->text) == 0;
    *locked = same && flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return same;
}

bool sweep_token_find(const struct sweep_token *token, bool *locked, struct error *error)
{
    const uint64_t began = clock_nanoseconds();
    char *directory = sweep_files_directory(token->sweep, error);
    char *path = directory ? file_join(directory, token->file) : NULL;
    bool found = false;
    *locked = false;
    if (directory && !path)
        error_set_memory(error, "a path", 0);
    while (path && !(found = is_token(path, token, locked)) &&
           clock_seconds(began, clock_nanoseconds()) < patience)
        clock_sleep(0.05);
    if (path && !found)
        error_set(error, ERROR_INPUT, directory,
                  "set XDG_STATE_HOME to a folder that all hosts share",
                  "this is not the folder that rank 0 uses: its file %s is not there", token->file);
    free(path);
    free(directory);
    return found;
}
