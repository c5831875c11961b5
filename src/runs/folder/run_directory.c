/* The folder of all runs: which entries are runs, which are left from killed processes, and how the
 * name or the beginning of an ID finds a run. */
#include "runs/folder/run_directory.h"

#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "runs/folder/folder_trust.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_name.h"
#include "runs/values/run_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100 };

char *run_directory_home(struct error *error)
{
    char *path = user_path_make("XDG_STATE_HOME", ".local/state", "tinca/runs",
                                _("the folder of runs"), error);
    if (path && folder_trust_check(path, error))
        return path;
    free(path);
    return NULL;
}

char *run_directory_beside(const char *name, struct error *error)
{
    char *home = run_directory_home(error);
    if (!home)
        return NULL;
    *strrchr(home, '/') = '\0';
    char *path = file_join(home, name);
    if (!path)
        error_set_memory(error, "a path", 0);
    free(home);
    return path;
}

static const char config_name[] = "config.json";
static size_t length_without_part(const char *name);

/* --- listing --- */

static bool holds_run(const char *directory)
{
    char *config = file_join(directory, "config.json");
    bool holds = config && file_exists(config);
    free(config);
    return holds;
}

static bool entry_is_run(const char *home, const char *name)
{
    if (name[0] == '.' || strlen(name) >= RUN_ID_SIZE)
        return false;
    char *directory = file_join(home, name);
    bool is = directory && holds_run(directory);
    free(directory);
    return is;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_ids(char **ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
}

/* Returns whether `name` is that of a half-written file of a run. */
static bool is_part(const char *name)
{
    return run_directory_is_own_file(name) && length_without_part(name) < strlen(name);
}

/* Returns whether a folder (not a link) has only a lock and half-written files; or, if one of them
 * is config.json (run_directory_begin), only files of a run. */
static bool holds_remains(const char *directory)
{
    const int descriptor =
        open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *stream = descriptor < 0 ? NULL : fdopendir(descriptor);
    bool remains = stream, begun = false, others = false;
    if (!stream && descriptor >= 0)
        close(descriptor);
    for (struct dirent *entry; remains && (entry = readdir(stream));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lock") == 0)
            continue;
        remains = run_directory_is_own_file(name);
        begun |= is_part(name) && strncmp(name, config_name, sizeof config_name - 1) == 0;
        others |= !is_part(name);
    }
    if (stream)
        closedir(stream);
    return remains && (begun || !others);
}

bool run_directory_is_incomplete(const char *directory)
{
    return !holds_run(directory) && holds_remains(directory) && !run_directory_is_alive(directory);
}

/* Accepts entries that are named like a run. */
static bool entry_is_incomplete(const char *home, const char *name)
{
    if (strlen(name) < 17 || strlen(name) >= RUN_ID_SIZE || strspn(name, "0123456789-") < 16)
        return false;
    char *directory = file_join(home, name);
    const bool is = directory && run_directory_is_incomplete(directory);
    free(directory);
    return is;
}

typedef bool is_wanted(const char *home, const char *name);
static bool list_home(const char *home, is_wanted *wanted, char ***ids, size_t *count,
                      struct error *error)
{
    DIR *directory = opendir(home);
    size_t capacity = 0;
    bool listed = true;
    if (!directory) /* before the first run it is missing */
        return errno == ENOENT ||
               error_set_errno(error, home, "check its permissions", "cannot be listed");
    for (struct dirent *entry; listed && (entry = readdir(directory));) {
        if (!wanted(home, entry->d_name))
            continue;
        listed = memory_grow(ids, &capacity, *count + 1, sizeof **ids, "the list of runs", error) &&
                 ((*ids)[*count] = memory_copy_text(entry->d_name, error));
        *count += listed;
    }
    closedir(directory);
    return listed;
}

static bool list(is_wanted *wanted, char ***ids, size_t *count, struct error *error)
{
    *ids = NULL;
    *count = 0;
    char *home = run_directory_home(error);
    bool listed = home && list_home(home, wanted, ids, count, error);
    free(home);
    if (!listed) {
        free_ids(*ids, *count);
        *ids = NULL;
        *count = 0;
        return false;
    }
    if (*count > 0)
        qsort(*ids, *count, sizeof **ids, by_name);
    return true;
}

bool run_directory_list(char ***ids, size_t *count, struct error *error)
{
    return list(entry_is_run, ids, count, error);
}

bool run_directory_list_incomplete(char ***ids, size_t *count, struct error *error)
{
    return list(entry_is_incomplete, ids, count, error);
}

/* --- finding --- */

/* Returns how many IDs begin with `id`; *found is the last of them. */
static size_t match_ids(char *const *ids, size_t count, const char *id, const char **found)
{
    size_t matches = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(ids[i], id, strlen(id)) != 0)
            continue;
        *found = ids[i];
        matches++;
    }
    return matches;
}

/* Returns how many runs have this name; *found is the last of them. */
static size_t match_names(char *const *ids, size_t count, const char *name, const char **found,
                          const char *home)
{
    size_t matches = 0;
    char given[RUN_NAME_SIZE];
    for (size_t i = 0; i < count; i++) {
        char *directory = file_join(home, ids[i]);
        if (directory && strcmp(run_name_read(directory, given), name) == 0) {
            *found = ids[i];
            matches++;
        }
        free(directory);
    }
    return matches;
}

/* Searches names before beginnings of IDs. */
static bool choose_id(char *const *ids, size_t count, const char *id, const char *home,
                      const char **found, struct error *error)
{
    const char *named = NULL;
    if (!id[0])
        return error_set(error, ERROR_USAGE, "RUN", "tinca runs lists them", "its name is empty");
    size_t begun = match_ids(ids, count, id, found);
    size_t called = match_names(ids, count, id, &named, home);
    if (called > 0)
        *found = named;
    if (called == 1 || (called == 0 && begun == 1))
        return true;
    if (called > 1)
        return error_set(error, ERROR_USAGE, id, "give the ID: tinca runs lists them",
                         "%zu runs are called so, the last of them is %s", called, *found);
    if (begun > 1)
        return error_set(error, ERROR_USAGE, id, "give more of it: tinca runs lists them",
                         "%zu runs begin so, the last of them %s", begun, *found);
    if (holds_run(id))
        return error_set(error, ERROR_USAGE, id, "a path has a slash in it",
                         "no run is called so; the folder that is here is ./%s", id);
    if (count == 0)
        return error_set(error, ERROR_USAGE, id, "tinca train makes one", "there are no runs yet");
    return error_set(error, ERROR_USAGE, id, "tinca runs lists them",
                     "there is no such run among the %zu that are kept; the last one is %s", count,
                     ids[count - 1]);
}

static char *find_among_all(const char *home, const char *id, struct error *error)
{
    char **ids, *directory = NULL;
    const char *found = NULL;
    size_t count;
    if (!run_directory_list(&ids, &count, error))
        return NULL;
    if (choose_id(ids, count, id, home, &found, error)) {
        directory = file_join(home, found);
        if (!directory)
            error_set_memory(error, "a path", 0);
    }
    free_ids(ids, count);
    return directory;
}

char *run_directory_find_any(const char *id, struct error *error)
{
    bool is_path = strchr(id, '/');
    if (is_path && holds_run(id))
        return memory_copy_text(id, error);
    char *home = run_directory_home(error), *directory = NULL;
    if (home && !is_path && entry_is_run(home, id)) /* a full name: the other runs are not read */
        directory = file_join(home, id);
    if (home && !directory)
        directory = find_among_all(home, id, error);
    free(home);
    return directory;
}

char *run_directory_find(const char *id, struct error *error)
{
    char *directory = run_directory_find_any(id, error);
    if (!directory || folder_trust_check(directory, error))
        return directory;
    free(directory);
    return NULL;
}

/* --- creating --- */

/* Returns the folder's path in a form that run_directory_find takes for a folder, not for the name
 * of a run, and that no command takes for an option. NULL with an error. */
static char *copy_as_path(const char *wanted, struct error *error)
{
    if (strchr(wanted, '/') && wanted[0] != '-')
        return memory_copy_text(wanted, error);
    char *path = file_join(".", wanted);
    if (!path)
        error_set_memory(error, wanted, 0);
    return path;
}

static char *create_wanted(const char *wanted, struct error *error)
{
    if (!folder_trust_check(wanted, error))
        return NULL;
    if (holds_run(wanted)) {
        error_set(error, ERROR_USAGE, wanted, "choose another folder, or remove that run",
                  "it already holds a run");
        return NULL;
    }
    return file_make_directories(wanted, error) ? copy_as_path(wanted, error) : NULL;
}

/* Deletes an incomplete folder if it is older than a minute; the process of a younger one may not
 * have locked it yet. */
static void remove_if_old(const char *directory)
{
    struct stat status;
    if (lstat(directory, &status) != 0 || time(NULL) - status.st_mtime < 60)
        return;
    const int lock = run_directory_lock(directory, NULL);
    if (lock >= 0 && holds_remains(directory))
        run_directory_discard(directory, true);
    if (lock >= 0)
        close(lock);
}

static void remove_incomplete(const char *home)
{
    char **ids = NULL;
    size_t count = 0;
    list_home(home, entry_is_incomplete, &ids, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        char *directory = file_join(home, ids[i]);
        if (directory)
            remove_if_old(directory);
        free(directory);
    }
    free_ids(ids, count);
}

/* Returns whether a folder is, or would be, one of the folder of all runs. */
static bool is_in_home(const char *folder)
{
    struct stat home_status, parent_status;
    char *home = run_directory_home(NULL), *parent = copy_as_path(folder, NULL);
    char *slash = parent ? strrchr(parent, '/') : NULL;
    if (slash)
        *slash = '\0';
    const bool in =
        home && slash && stat(home, &home_status) == 0 && stat(parent, &parent_status) == 0 &&
        home_status.st_dev == parent_status.st_dev && home_status.st_ino == parent_status.st_ino;
    free(home);
    free(parent);
    return in;
}

char *run_directory_create(const char *wanted, const char *name, char *id, struct error *error)
{
    run_id_new(name, id);
    if (wanted) {
        if (is_in_home(wanted) && strlen(file_base_name(wanted)) < RUN_ID_SIZE)
            snprintf(id, RUN_ID_SIZE, "%s", file_base_name(wanted));
        return create_wanted(wanted, error);
    }
    char *home = run_directory_home(error);
    if (home && (!file_make_directories(home, error) || !folder_trust_check(home, error))) {
        free(home);
        return NULL;
    }
    if (home)
        remove_incomplete(home);
    for (int tries = 0; home && tries < TRIES; tries++) {
        char *directory = file_join(home, id);
        const bool made = directory && mkdir(directory, 0700) == 0;
        if (made && file_sync_directory(home)) {
            free(home);
            return directory;
        }
        if (!directory)
            error_set_memory(error, "a path", 0);
        else if (errno != EEXIST || tries + 1 == TRIES)
            error_set_errno(error, directory, "check space and permissions", "cannot be created");
        bool again = directory && errno == EEXIST;
        if (made)
            rmdir(directory);
        free(directory);
        if (!again)
            break;
        run_id_new(name, id);
    }
    free(home);
    return NULL;
}

bool run_directory_begin(const char *directory, struct error *error)
{
    char *path = file_join(directory, "config.json.0.part");
    if (!path)
        return error_set_memory(error, "a path", 0);
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool marked =
        (descriptor >= 0 && file_sync_directory(directory)) ||
        error_set_errno(error, path, "check space and permissions", "cannot be created");
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    return marked;
}

/* --- files of a run --- */

static bool is_sample(const char *name, size_t length)
{
    static const char prefix[] = "sample-", suffix[] = ".png";
    size_t from = sizeof prefix - 1, end = sizeof suffix - 1;
    return length > from + end && strncmp(name, prefix, from) == 0 &&
           strncmp(name + length - end, suffix, end) == 0 &&
           strspn(name + from, "0123456789") == length - from - end;
}

/* Returns the length of a name without the ending of a half-written file, ".NUMBER.part". */
static size_t length_without_part(const char *name)
{
    static const char part[] = ".part";
    size_t length = strlen(name), end = sizeof part - 1;
    if (length <= end || strcmp(name + length - end, part) != 0)
        return length;
    size_t digits = length - end;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    return digits > 1 && digits < length - end && name[digits - 1] == '.' ? digits - 1 : length;
}

bool run_directory_is_own_file(const char *name)
{
    static const char *const own[] = {"config.json",
                                      "network.json",
                                      "data.json",
                                      JOURNAL_FILE,
                                      "journal.previous",
                                      "journal.damaged",
                                      JOURNAL_TEXT_FILE,
                                      JOURNAL_COLUMNS_FILE,
                                      "journal.previous.jsonl",
                                      "journal.damaged.jsonl",
                                      "weights.safetensors",
                                      "best.safetensors",
                                      "checkpoint.safetensors",
                                      "checkpoint.previous.safetensors",
                                      "ancestor.safetensors",
                                      "discriminator.safetensors",
                                      "summary.json",
                                      "killed.json",
                                      "measurements.json",
                                      "measurements.lock",
                                      "correct.json",
                                      "outputs.json",
                                      "profile.json",
                                      "provenance.json",
                                      "pruned.json",
                                      "name.txt",
                                      "tags.txt",
                                      "note.txt",
                                      "lock"};
    size_t length = length_without_part(name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == length && strncmp(own[i], name, length) == 0)
            return true;
    return is_sample(name, length);
}

static bool makes_run(const char *name)
{
    return strcmp(name, "config.json") == 0 || strcmp(name, JOURNAL_FILE) == 0 ||
           strcmp(name, JOURNAL_TEXT_FILE) == 0 || strcmp(name, "lock") == 0;
}

void run_directory_discard(const char *directory, bool whole)
{
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (makes_run(entry->d_name) || is_part(entry->d_name) ||
            (whole && run_directory_is_own_file(entry->d_name)))
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    if (whole)
        rmdir(directory);
}

void run_directory_clear_parts(const char *directory)
{
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (length_without_part(entry->d_name) < strlen(entry->d_name) &&
            run_directory_is_own_file(entry->d_name))
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}
