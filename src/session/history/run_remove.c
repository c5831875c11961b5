/* Names all files relative to the opened directory, so that nothing outside it can be deleted.
 * Deletes config.json last, and after a sync: after an interrupted deletion, or a power cut, the
 * run is still listed and can be deleted again. */
#include "session/history/run_remove.h"

#include "base/files/file.h"
#include "session/files/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_directory(const char *directory, DIR **stream, struct error *error)
{
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *stream = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (*stream)
        return true;
    if (descriptor >= 0)
        close(descriptor);
    return error_set_errno(error, directory, "check its permissions", "cannot be opened");
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Calls `visit` for each file until it returns false. Anything that tinca did not write is an
 * error; some files may have been visited before it. */
typedef bool visit_file(int directory, const char *name, const struct stat *status, void *context,
                        struct error *error);
static bool visit_files(const char *directory, visit_file *visit, void *context,
                        struct error *error)
{
    DIR *stream;
    struct stat status;
    bool good = open_directory(directory, &stream, error);
    if (!good)
        return false;
    for (struct dirent *entry; good && (entry = readdir(stream));) {
        const char *name = entry->d_name;
        if (is_dots(name))
            continue;
        if (fstatat(dirfd(stream), name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            good = error_set_errno(error, name, "check its permissions", "cannot be looked at");
        else if (!S_ISREG(status.st_mode) || !run_directory_is_own_file(name))
            good =
                error_set(error, ERROR_USAGE, file_base_name(directory), "move it elsewhere first",
                          "\"%s\" there was not written by tinca: nothing was deleted", name);
        else
            good = visit(dirfd(stream), name, &status, context, error);
    }
    closedir(stream);
    return good;
}

static bool count_file(int directory, const char *name, const struct stat *status, void *context,
                       struct error *error)
{
    struct run_removal *removal = context;
    (void)directory;
    (void)name;
    (void)error;
    removal->files++;
    removal->bytes += (uint64_t)status->st_size;
    return true;
}

static bool remove_file(int directory, const char *name, const struct stat *status, void *context,
                        struct error *error)
{
    (void)status;
    (void)context;
    if (strcmp(name, "config.json") == 0 || strcmp(name, "lock") == 0)
        return true;
    if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
        return true;
    return error_set_errno(error, name, "check the folder's permissions", "cannot be deleted");
}

bool run_removal_add(const char *directory, void *removal, struct error *error)
{
    return visit_files(directory, count_file, removal, error);
}

bool run_remove_check(const char *directory, struct run_removal *removal, struct error *error)
{
    if (run_directory_is_alive(directory))
        return error_set(error, ERROR_USAGE, file_base_name(directory),
                         "wait for its end, or stop it",
                         "this run is on, here or in another process");
    return visit_files(directory, count_file, removal, error);
}

static bool remove_rest(const char *directory, struct error *error)
{
    DIR *stream;
    if (!open_directory(directory, &stream, error))
        return false;
    fsync(dirfd(stream)); /* where folders cannot be synced, there is nothing to wait for */
    unlinkat(dirfd(stream), "config.json", 0);
    unlinkat(dirfd(stream), "lock", 0);
    closedir(stream);
    if (rmdir(directory) == 0)
        return true;
    return error_set_errno(error, directory, "look at what is left there",
                           "the run's files are deleted, but its folder cannot be");
}

bool run_remove(const char *directory, struct error *error)
{
    struct run_removal removal = {0};
    if (!run_remove_check(directory, &removal, error)) /* before a lock file is created there */
        return false;
    int lock = run_directory_lock(directory, error);
    if (lock < 0)
        return false;
    bool removed = visit_files(directory, count_file, &removal, error) &&
                   visit_files(directory, remove_file, NULL, error) &&
                   remove_rest(directory, error);
    close(lock);
    return removed;
}
