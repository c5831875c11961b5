/* First the folder is listed: each entry is a file of the table, a sample picture, an incomplete
 * file or a foreign one. Then the files are checked in the order of the table, so that each check
 * can use the facts of those before it. Last, the files are compared with each other.
 *
 * A run that is training changes meanwhile. Problems count only if nothing has begun, ended or been
 * replaced during the check; otherwise the check is repeated. */
#include "training/check/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "runs/folder/run_directory.h"
#include "runs/values/run_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 4, BEGINNING = 10 /* seconds */ };

struct file_check {
    const char *name;
    void (*inspect)(struct check *check, const char *file);
};

/* A check may use the facts of the rows above it: the journal is compared with the checkpoints and
 * the summary while it is read, and models are compared with the journal. */
static const struct file_check checks[] = {
    {"config.json", check_config},
    {"name.txt", check_user_line},
    {"tags.txt", check_user_line},
    {"note.txt", check_user_line},
    {"lock", check_lock},
    {"summary.json", check_summary},
    {"killed.json", check_killed},
    {"checkpoint.safetensors", check_checkpoint_mark},
    {"checkpoint.previous.safetensors", check_checkpoint_mark},
    {JOURNAL_FILE, check_journal},
    {JOURNAL_TEXT_FILE, check_journal},
    {"journal.previous", check_old_journal},
    {"journal.previous.jsonl", check_old_journal},
    {"weights.safetensors", check_model},
    {"best.safetensors", check_model},
    {"network.json", check_network},
    {"data.json", check_data},
    {"discriminator.safetensors", check_discriminator},
    {"ancestor.safetensors", check_ancestor},
    {"checkpoint.safetensors", check_checkpoint},
    {"checkpoint.previous.safetensors", check_checkpoint},
    {"measurements.json", check_measurements},
    {"correct.json", check_correct},
    {"profile.json", check_profile},
    {"outputs.json", check_outputs},
};
enum { CHECKS = sizeof checks / sizeof *checks };

/* --- the whole run --- */

/* Returns whether the folder was created just now, so that its process may not have locked it yet.
 */
static bool is_new(const struct check *check)
{
    struct stat status;
    return stat(check->directory, &status) == 0 && time(NULL) - status.st_mtime < BEGINNING;
}

/* Reports a missing config.json. Returns whether there is a run to check: not if its process was
 * killed early, or while it deleted the run. */
static bool require_run(struct check *check)
{
    bool anything = false;
    for (size_t i = 0; i < CHECKS; i++)
        anything |= check->files[i].presence == FILE_HERE && strcmp(checks[i].name, "lock") != 0;
    const bool is_run =
        check->alive || (anything && !run_directory_is_incomplete(check->directory));
    if (check->alive)
        return true;
    if (is_run)
        check_report(check, "config.json", RUN_PROBLEM_ERROR, REMEDY_CONFIG, _("it is missing"));
    else if (!is_new(check))
        check_report(check, ".", RUN_PROBLEM_WARNING, REMEDY_DELETE_RUN,
                     _("no run is in it: its process was killed before it began, or a deletion "
                       "was cut off"));
    return is_run;
}

static void choose_status(const struct check *check)
{
    const char *status = "none";
    if (check_state(check, "config.json")->presence != FILE_ABSENT)
        status = !check->has_config    ? "unreadable"
                 : check->alive        ? run_status_name(RUN_RUNNING)
                 : check->summary.read ? run_status_name(check->summary.snapshot.status)
                                       : run_status_name(RUN_INTERRUPTED);
    snprintf(check->report->status, sizeof check->report->status, "%s", status);
}

static void inspect_all(struct check *check)
{
    if (!check_folder(check))
        return;
    if (check_state(check, JOURNAL_FILE)->presence == FILE_ABSENT &&
        check_state(check, JOURNAL_TEXT_FILE)->presence != FILE_ABSENT)
        check->journal = JOURNAL_TEXT_FILE;
    if (check_state(check, "config.json")->presence == FILE_ABSENT && !require_run(check))
        return;
    for (check->file = 0; check->file < CHECKS; check->file++) {
        const struct file_check *row = &checks[check->file];
        const struct check_file_state *first = check_find_state(check, row->name);
        check->files[check->file].presence = first->presence;
        if (first->presence == FILE_HERE && !first->damaged)
            row->inspect(check, row->name);
        if (first != &check->files[check->file]) /* this is the second row of the file */
            check_find_state(check, row->name)->damaged |= check->files[check->file].damaged;
    }
    if (check->has_config)
        check_consistency(check);
}

static bool inspect_once(const char *directory, bool home, struct run_check *report)
{
    struct check *check = memory_new(1, sizeof *check, "a check", NULL);
    struct check_file_state *files = memory_new(CHECKS, sizeof *files, "a check", NULL);
    enum check_remedy *remedies =
        memory_new(RUN_CHECK_PROBLEMS_MAX, sizeof *remedies, "a check", NULL);
    bool good = check && files && remedies;
    if (good) {
        *check = (struct check){.directory = directory,
                                .journal = JOURNAL_FILE,
                                .report = report,
                                .remedies = remedies,
                                .home = home,
                                .files = files,
                                .file_count = CHECKS,
                                .alive = run_directory_is_alive(directory)};
        for (size_t i = 0; i < CHECKS; i++)
            files[i].name = checks[i].name;
        config_defaults(&check->config);
        report->count = report->omitted = report->omitted_errors = 0;
        inspect_all(check);
        choose_status(check);
        check_write_remedies(check);
        network_free(check->network);
        good = !check->out_of_memory;
    }
    free(remedies);
    free(files);
    free(check);
    return good;
}

/* The state that changes when a run begins, ends, or replaces a file. */
struct moment_of_folder {
    bool alive;
    struct timespec changed, journal;
};

static struct moment_of_folder moment_of(const char *directory)
{
    struct stat status;
    struct moment_of_folder moment = {.alive = run_directory_is_alive(directory)};
    char *path = journal_path(directory, NULL, NULL);
    if (stat(directory, &status) == 0)
        moment.changed = status.st_mtim;
    if (!moment.alive && path && lstat(path, &status) == 0)
        moment.journal = status.st_mtim;
    free(path);
    return moment;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool run_check(const char *directory, bool home, struct run_check *check, struct error *error)
{
    *check = (struct run_check){0};
    snprintf(check->id, sizeof check->id, "%s", file_base_name(directory));
    check->problems = memory_new(RUN_CHECK_PROBLEMS_MAX, sizeof *check->problems, "a check", error);
    if (!check->problems)
        return false;
    for (int tries = 0; tries < TRIES; tries++) {
        const struct moment_of_folder before = moment_of(directory);
        if (!inspect_once(directory, home, check)) {
            run_check_free(check);
            return error_set_memory(error, "a check", 0);
        }
        const struct moment_of_folder after = moment_of(directory);
        if (check->count == 0 ||
            (before.alive == after.alive && is_same_time(before.changed, after.changed) &&
             is_same_time(before.journal, after.journal)))
            break;
    }
    return true;
}

size_t run_check_errors(const struct run_check *check)
{
    size_t errors = 0;
    for (size_t i = 0; i < check->count; i++)
        errors += check->problems[i].severity == RUN_PROBLEM_ERROR;
    return errors + check->omitted_errors;
}

const char *run_problem_severity_name(enum run_problem_severity severity)
{
    return severity == RUN_PROBLEM_ERROR ? "error" : "warning";
}

void run_check_free(struct run_check *check)
{
    free(check->problems);
    *check = (struct run_check){0};
}

/* --- all runs --- */

bool run_check_list(char ***names, size_t *count, struct error *error)
{
    struct dirent **entries;
    char *home = run_directory_home(error);
    const bool none = home && !file_exists(home); /* before the first run */
    const int found = home && !none ? scandir(home, &entries, NULL, check_compare_names) : -1;
    *names = NULL;
    *count = 0;
    if (home && !none && found < 0)
        error_set_errno(error, home, "check its permissions", "cannot be listed");
    free(home);
    if (found < 0)
        return none;
    *names = memory_new((size_t)found, sizeof **names, "the list of runs", error);
    bool listed = *names;
    for (int i = 0; i < found; i++) {
        const char *name = entries[i]->d_name;
        if (listed && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            listed = ((*names)[*count] = memory_copy_text(name, error));
            *count += listed;
        }
        free(entries[i]);
    }
    free(entries);
    for (size_t i = 0; !listed && i < *count; i++)
        free((*names)[i]);
    if (!listed) {
        free(*names);
        *names = NULL;
    }
    return listed;
}
