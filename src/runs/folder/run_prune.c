/* One table decides from the files that exist which of them go: it has a bit for each file. The
 * list of deleted files is written before the first one is deleted, so that a crash in between
 * leaves no file that is missing without a reason. */
#include "runs/folder/run_prune.h"

#include "base/files/file.h"
#include "base/language.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- space --- */

uint64_t run_disk_bytes(const char *directory)
{
    uint64_t bytes = 0;
    struct stat status;
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_size;
    if (stream)
        closedir(stream);
    return bytes;
}

const char *const run_keep_names[] = {
    [RUN_KEEP_BEST] = "best", [RUN_KEEP_LAST] = "last", [RUN_KEEP_NONE] = "none", NULL};

enum weights_file { BEST, FINAL, DISCRIMINATOR, CHECKPOINT, PREVIOUS, ANCESTOR, WEIGHTS_FILES };

static const char *const names[WEIGHTS_FILES] = {[BEST] = "best.safetensors",
                                                 [FINAL] = "weights.safetensors",
                                                 [DISCRIMINATOR] = "discriminator.safetensors",
                                                 [CHECKPOINT] = "checkpoint.safetensors",
                                                 [PREVIOUS] = "checkpoint.previous.safetensors",
                                                 [ANCESTOR] = "ancestor.safetensors"};

static const char list_name[] = "pruned.json";
enum { LIST_LIMIT = 1 << 16 };

/* --- the decision --- */

/* Returns the size of a regular file of the folder; false if there is none. */
static bool size_of(const char *directory, const char *name, uint64_t *bytes)
{
    struct stat status;
    char *path = file_join(directory, name);
    const bool is = path && lstat(path, &status) == 0 && S_ISREG(status.st_mode);
    *bytes = is ? (uint64_t)status.st_size : 0;
    free(path);
    return is;
}

/* Returns which of the existing files, a bit each, stay. */
static unsigned kept_of(unsigned files, enum run_keep keep)
{
    const unsigned best = files & 1U << BEST, last = files & (1U << FINAL | 1U << DISCRIMINATOR),
                   checkpoint =
                       files & 1U << CHECKPOINT ? 1U << CHECKPOINT : files & 1U << PREVIOUS,
                   state = checkpoint ? checkpoint : files & 1U << ANCESTOR;
    if (keep == RUN_KEEP_NONE)
        return 0;
    if (keep == RUN_KEEP_BEST)
        return best ? best : last ? last : state;
    return last || state ? last | (checkpoint ? checkpoint : last ? 0 : state) : best;
}

/* Returns which files go, and sums them up. */
static unsigned choose(const char *directory, enum run_keep keep, struct run_pruning *pruning)
{
    unsigned files = 0;
    uint64_t bytes[WEIGHTS_FILES];
    for (size_t i = 0; i < WEIGHTS_FILES; i++)
        if (size_of(directory, names[i], &bytes[i]))
            files |= 1U << i;
    const unsigned doomed = files & ~kept_of(files, keep);
    *pruning = (struct run_pruning){0};
    for (size_t i = 0; i < WEIGHTS_FILES; i++)
        if (doomed & 1U << i) {
            pruning->files++;
            pruning->bytes += bytes[i];
        }
    return doomed;
}

void run_prune_measure(const char *directory, enum run_keep keep, struct run_pruning *pruning)
{
    choose(directory, keep, pruning);
}

/* --- the list of deleted files --- */

bool run_prune_has_deleted(const char *directory, const char *name)
{
    bool found = false;
    struct json_document document;
    if (!run_json_open(&document, directory, list_name, LIST_LIMIT, NULL, NULL))
        return false;
    const struct json *item = json_first(json_member(document.root, "deleted"));
    for (; item && !found; item = json_next(item)) {
        const char *deleted = json_string(item);
        found = deleted && strcmp(deleted, name) == 0;
    }
    json_document_free(&document);
    return found;
}

/* Writes the list, with the files that were deleted before and have not come back. */
static bool write_list(const char *directory, unsigned doomed, struct error *error)
{
    uint64_t bytes;
    struct json *tree = json_new_object();
    bool complete =
        json_add_string(tree, "format", "tinca-pruned") && json_add_count(tree, "version", 1);
    struct json *list = json_add_array(tree, "deleted");
    for (size_t i = 0; complete && list && i < WEIGHTS_FILES; i++)
        if (doomed & 1U << i ||
            (run_prune_has_deleted(directory, names[i]) && !size_of(directory, names[i], &bytes)))
            complete = json_add_string(list, NULL, names[i]);
    return run_json_write(directory, list_name, tree, complete && list, error);
}

/* --- deletion --- */

static bool delete_file(const char *directory, const char *name, struct error *error)
{
    char *path = file_join(directory, name);
    bool deleted = path || error_set_memory(error, "a path", 0);
    if (path && unlink(path) != 0 && errno != ENOENT)
        deleted =
            error_set_errno(error, path, "check the folder's permissions", "cannot be deleted");
    free(path);
    return deleted;
}

static bool delete_files(const char *directory, unsigned doomed, struct error *error)
{
    bool good = write_list(directory, doomed, error);
    for (size_t i = 0; good && i < WEIGHTS_FILES; i++)
        if (doomed & 1U << i)
            good = delete_file(directory, names[i], error);
    file_sync_directory(directory);
    return good;
}

bool run_prune(const char *directory, enum run_keep keep, struct run_pruning *pruning,
               struct error *error)
{
    *pruning = (struct run_pruning){0};
    if (run_directory_is_alive(directory))
        return error_set(error, ERROR_USAGE, file_base_name(directory),
                         _("wait for its end, or stop it"),
                         _("this run is on, here or in another process"));
    const int lock = run_directory_lock(directory, error);
    if (lock < 0)
        return false;
    const unsigned doomed = choose(directory, keep, pruning);
    const bool good = !doomed || delete_files(directory, doomed, error);
    close(lock);
    return good;
}
