/* A run is moved by rename, so a deletion is complete or did not happen, and the trash needs no
 * file that describes it: the folder's name is the time, and the run's folder is named as before.
 */
#include "runs/history/run_trash.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "runs/folder/run_directory.h"
#include "runs/values/run_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- the files of a run --- */

/* Names all files relative to the opened directory, so that nothing outside it can be deleted.
 * Deletes config.json last, and after a sync: after an interrupted deletion, or a power cut, the
 * run is still listed and can be deleted again. */

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

/* Does the same without looking whether a process trains the run. `removal` is a struct
 * run_removal; the type suits functions that visit folders. */
static bool run_removal_add(const char *directory, void *removal, struct error *error)
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

/* --- the trash --- */

enum { STAMP = 15, TRIES = 100 }; /* STAMP: characters of 20260131-235959 */

bool run_trash_takes(const char *directory)
{
    char *home = run_directory_home(NULL);
    const size_t length = home ? strlen(home) : 0;
    const bool takes = home && strncmp(directory, home, length) == 0 && directory[length] == '/' &&
                       !strchr(directory + length + 1, '/');
    free(home);
    return takes;
}

/* --- visiting --- */

/* Calls `visit` with each entry of a folder whose name does not begin with a point, in the order of
 * the names, until it returns false. A missing folder has no entries. */
typedef bool visit_entry(const char *path, void *context, struct error *error);
static bool visit_entries(const char *folder, visit_entry *visit, void *context,
                          struct error *error)
{
    struct dirent **entries;
    bool good = true;
    const int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) /* a file that somebody put there is no deletion */
        return errno == ENOENT || errno == ENOTDIR ||
               error_set_errno(error, folder, "check its permissions", "cannot be listed");
    for (int i = 0; i < count; i++) {
        char *path = entries[i]->d_name[0] == '.' ? NULL : file_join(folder, entries[i]->d_name);
        if (good && path)
            good = visit(path, context, error);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return good;
}

/* Calls `visit` with the folder of each run in the trash. */
struct runs_visit {
    visit_entry *visit;
    void *context;
};

static bool visit_deletion(const char *path, void *context, struct error *error)
{
    const struct runs_visit *runs = context;
    return visit_entries(path, runs->visit, runs->context, error);
}

static bool visit_runs(visit_entry *visit, void *context, struct error *error)
{
    struct runs_visit runs = {visit, context};
    char *trash = run_directory_beside("trash", error);
    const bool good = trash && visit_entries(trash, visit_deletion, &runs, error);
    free(trash);
    return good;
}

/* --- removal for good --- */

static bool count_run(const char *path, void *context, struct error *error)
{
    (void)path;
    (void)error;
    ++*(size_t *)context;
    return true;
}

static bool remove_run(const char *path, void *context, struct error *error)
{
    if (!run_remove(path, error))
        return false;
    ++*(size_t *)context;
    return true;
}

/* Removes the folder of a deletion with its runs. */
static bool remove_deletion(const char *path, void *context, struct error *error)
{
    return visit_entries(path, remove_run, context, error) &&
           (rmdir(path) == 0 ||
            error_set_errno(error, path, "look at what is left there", "cannot be removed"));
}

static void format_time(time_t time, char *stamp)
{
    struct tm parts;
    gmtime_r(&time, &parts);
    strftime(stamp, STAMP + 1, "%Y%m%d-%H%M%S", &parts);
}

/* Removes a deletion that is older than the time in `context`. What cannot be removed stays. */
static bool remove_if_old(const char *path, void *context, struct error *error)
{
    size_t removed = 0;
    const char *name = file_base_name(path);
    const bool stamped = strspn(name, "0123456789") == 8 && name[8] == '-';
    (void)error;
    if (stamped && strncmp(name, context, STAMP) < 0)
        remove_deletion(path, &removed, NULL);
    return true;
}

static void remove_old(const char *trash)
{
    char oldest[STAMP + 1];
    format_time(time(NULL) - (time_t)RUN_TRASH_DAYS * 24 * 3600, oldest);
    visit_entries(trash, remove_if_old, oldest, NULL);
}

size_t run_trash_count(void)
{
    size_t runs = 0;
    return visit_runs(count_run, &runs, NULL) ? runs : 0;
}

bool run_trash_measure(size_t *runs, struct run_removal *removal, struct error *error)
{
    *runs = 0;
    return visit_runs(count_run, runs, error) && visit_runs(run_removal_add, removal, error);
}

bool run_trash_empty(size_t *removed, struct error *error)
{
    *removed = 0;
    char *trash = run_directory_beside("trash", error);
    const bool good = trash && visit_entries(trash, remove_deletion, removed, error);
    free(trash);
    return good;
}

/* --- deletion --- */

/* Creates the folder of a deletion; of several in one second the later ones have a number. It is
 * synced: a run that is moved into a folder which a power cut undoes would be lost. */
static char *make_deletion(const char *trash, struct error *error)
{
    char stamp[STAMP + 1], name[STAMP + 16];
    format_time(time(NULL), stamp);
    for (int i = 0; i < TRIES; i++) {
        snprintf(name, sizeof name, "%s-%02d", stamp, i);
        char *path = file_join(trash, name);
        if (!path) {
            error_set_memory(error, "a path", 0);
            return NULL;
        }
        const bool made = mkdir(path, 0700) == 0;
        if (made && file_sync_directory(trash))
            return path;
        const bool again = !made && errno == EEXIST;
        if (!again || i + 1 == TRIES)
            error_set_errno(error, path, "check space and permissions", "cannot be created");
        if (made)
            rmdir(path);
        free(path);
        if (!again)
            return NULL;
    }
    return NULL;
}

char *run_trash_begin(struct error *error)
{
    char *trash = run_directory_beside("trash", error), *deletion = NULL;
    if (trash && file_make_directories(trash, error)) {
        remove_old(trash);
        deletion = make_deletion(trash, error);
    }
    free(trash);
    return deletion;
}

/* Renames a folder into another one and makes both changes durable. */
static bool move_into(const char *from, const char *folder, struct error *error)
{
    char *to = file_join(folder, file_base_name(from));
    if (!to)
        return error_set_memory(error, "a path", 0);
    bool moved = rename(from, to) == 0;
    if (!moved)
        error_set_errno(error, from, "check space and permissions", "cannot be moved");
    else if (!file_sync_directory(folder) || !file_sync_directory_of(from))
        moved = error_set_errno(error, to, "check the disk",
                                "it was moved there, but a power cut could undo that");
    free(to);
    return moved;
}

bool run_trash_put(const char *deletion, const char *directory, struct error *error)
{
    struct run_removal removal = {0};
    if (!run_remove_check(directory, &removal, error)) /* before a lock file is created there */
        return false;
    const int lock = run_directory_lock(directory, error);
    if (lock < 0)
        return false;
    const bool moved =
        run_removal_add(directory, &removal, error) && move_into(directory, deletion, error);
    close(lock);
    return moved;
}

void run_trash_end(const char *deletion)
{
    rmdir(deletion); /* fails if it contains runs */
}

/* --- undo --- */

struct restoring {
    const char *home;
    size_t count;
};

static bool restore_run(const char *path, void *context, struct error *error)
{
    struct restoring *restoring = context;
    if (!move_into(path, restoring->home, error))
        return false;
    restoring->count++;
    return true;
}

/* Stores the path, so that after all entries it is that of the last deletion with runs. */
static bool take_last(const char *path, void *context, struct error *error)
{
    char **last = context;
    size_t runs = 0;
    if (!visit_entries(path, count_run, &runs, error))
        return false;
    if (runs == 0)
        return true;
    free(*last);
    *last = memory_copy_text(path, error);
    return *last != NULL;
}

bool run_trash_undo(size_t *restored, struct error *error)
{
    char *trash = run_directory_beside("trash", error), *home = run_directory_home(error),
         *last = NULL;
    struct restoring restoring = {home, 0};
    bool good = trash && home && visit_entries(trash, take_last, &last, error);
    if (good && !last)
        good = error_set(error, ERROR_USAGE, "trash", NULL, "no deletion is left to undo");
    good = good && file_make_directories(home, error) &&
           visit_entries(last, restore_run, &restoring, error);
    if (last)
        rmdir(last);
    *restored = restoring.count;
    free(trash);
    free(home);
    free(last);
    return good;
}
