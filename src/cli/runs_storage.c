/* A deletion or pruning is first measured, then confirmed, then done. The question goes to standard
 * error, so that a redirected output has only the result. */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"
#include "runs/history/run_trash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the question --- */

/* Returns whether the user agrees. Without a terminal, sets *status to that of an error that says
 * what would happen. */
static bool agrees(const char *option, const char *what, bool yes, int *status)
{
    char answer[16];
    struct error error;
    *status = EXIT_DONE;
    if (yes)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        error_set(&error, ERROR_USAGE, option, _("give --yes"),
                  _("%s, and without a terminal nobody can be asked"), what);
        *status = output_error(&error);
        return false;
    }
    output_note(_("%s. Go on? [y/N] "), what);
    fflush(stderr);
    const bool agreed =
        fgets(answer, sizeof answer, stdin) && strchr(_("yY"), answer[0]) && answer[0] != '\0';
    if (!agreed)
        output_note(_("Nothing was deleted.\n"));
    return agreed;
}

/* --- deletion --- */

/* Fails if a run must not be deleted; adds its files and bytes to *removal. */
static bool check_deletion(const struct listed_run *run, struct run_removal *removal,
                           struct error *error)
{
    if (run->queued)
        return error_set(error, ERROR_USAGE, run->id, _("end the process that waits first"),
                         _("this run waits to be resumed"));
    return run_remove_check(run->directory, removal, error);
}

/* Moves the runs to the trash. *deleted counts them, also before an error. */
static bool delete_runs(const struct runs_list *list, size_t *deleted, struct error *error)
{
    char *deletion = run_trash_begin(error);
    bool good = deletion;
    for (*deleted = 0; good && *deleted < list->count; *deleted += good)
        good = run_trash_put(deletion, list->runs[*deleted]->directory, error);
    if (deletion)
        run_trash_end(deletion);
    free(deletion);
    return good;
}

/* Prints what was deleted or would be, a line for each run, on standard error. */
static void list_on_stderr(const struct runs_list *list)
{
    char bytes[32];
    for (size_t i = 0; i < list->count; i++)
        output_note("%s  %s  %s\n", list->runs[i]->id,
                    text_bytes(list->runs[i]->record.disk_bytes, bytes, sizeof bytes),
                    list->runs[i]->name);
}

static int print_deleted(const struct runs_list *list, const struct run_removal *removal,
                         bool as_json)
{
    char bytes[32];
    if (as_json) {
        struct json *root = json_new_object(), *ids = json_add_array(root, "deleted");
        bool complete = ids;
        for (size_t i = 0; complete && i < list->count; i++)
            complete = json_add_string(ids, NULL, list->runs[i]->id);
        return output_json(root, complete && json_add_count(root, "files", removal->files) &&
                                     json_add_count(root, "bytes", removal->bytes));
    }
    output_print(
        ngettext("Deleted %zu run, %s; tinca runs --undelete restores it for %d days.\n",
                 "Deleted %zu runs, %s; tinca runs --undelete restores them for %d days.\n",
                 list->count),
        list->count, text_bytes(removal->bytes, bytes, sizeof bytes), RUN_TRASH_DAYS);
    return EXIT_DONE;
}

int runs_delete(const struct runs_list *list, bool yes, bool as_json)
{
    char what[200], bytes[32];
    struct error error;
    struct run_removal removal = {0};
    size_t deleted;
    int status;
    for (size_t i = 0; i < list->count; i++)
        if (!check_deletion(list->runs[i], &removal, &error))
            return output_error(&error);
    if (list->count == 0 && !as_json) {
        runs_list_print_none(list);
        return EXIT_DONE;
    }
    snprintf(
        what, sizeof what,
        ngettext("%zu run, %s, moves to the trash", "%zu runs, %s, move to the trash", list->count),
        list->count, text_bytes(removal.bytes, bytes, sizeof bytes));
    if (!yes && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        list_on_stderr(list);
    if (!agrees("--delete", what, yes, &status))
        return status;
    if (list->count > 0 && !delete_runs(list, &deleted, &error))
        return output_error(&error);
    return print_deleted(list, &removal, as_json);
}

/* --- pruning --- */

/* Returns why a run is left alone, or NULL. */
static const char *spared(const struct listed_run *run)
{
    if (run->queued)
        return _("it waits to be resumed");
    return run_directory_is_alive(run->directory) ? _("it is on, here or in another process")
                                                  : NULL;
}

/* The files that pruning deletes of each run of a list. */
struct pruned {
    struct run_pruning *parts; /* of each run */
    struct run_pruning sum;
    size_t runs; /* that lose files */
};

static void add_part(struct pruned *pruned, size_t run, struct run_pruning part)
{
    pruned->parts[run] = part;
    pruned->sum.files += part.files;
    pruned->sum.bytes += part.bytes;
    pruned->runs += part.files > 0;
}

static void measure(const struct runs_list *list, enum run_keep keep, struct pruned *pruned)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_run *run = list->runs[i];
        const char *reason = spared(run);
        struct run_pruning part = {0};
        if (reason)
            output_note(_("%s is left alone: %s\n"), run->id, reason);
        else
            run_prune_measure(run->directory, keep, &part);
        add_part(pruned, i, part);
    }
}

/* Prunes the runs that lose files, and replaces what was measured by what was deleted. */
static bool prune_runs(const struct runs_list *list, enum run_keep keep, struct pruned *pruned,
                       struct error *error)
{
    bool good = true;
    struct run_pruning *parts = pruned->parts;
    *pruned = (struct pruned){.parts = parts};
    for (size_t i = 0; good && i < list->count; i++) {
        struct run_pruning part = {0};
        if (parts[i].files > 0)
            good = run_prune(list->runs[i]->directory, keep, &part, error);
        add_part(pruned, i, part);
    }
    return good;
}

static int print_pruned_json(const struct runs_list *list, const struct pruned *pruned)
{
    struct json *root = json_new_object(), *array = json_add_array(root, "pruned");
    bool complete = array;
    for (size_t i = 0; complete && i < list->count; i++) {
        if (pruned->parts[i].files == 0)
            continue;
        struct json *object = json_add_object(array, NULL);
        complete = json_add_string(object, "id", list->runs[i]->id) &&
                   json_add_count(object, "files", pruned->parts[i].files) &&
                   json_add_count(object, "bytes", pruned->parts[i].bytes);
    }
    return output_json(root, complete && json_add_count(root, "files", pruned->sum.files) &&
                                 json_add_count(root, "bytes", pruned->sum.bytes));
}

/* Prints a line for each run that loses files. */
static void print_parts(const struct runs_list *list, const struct pruned *pruned,
                        output_printer *print)
{
    char bytes[32];
    for (size_t i = 0; i < list->count; i++)
        if (pruned->parts[i].files > 0)
            print(ngettext("%s: %s in %zu file\n", "%s: %s in %zu files\n", pruned->parts[i].files),
                  list->runs[i]->id, text_bytes(pruned->parts[i].bytes, bytes, sizeof bytes),
                  pruned->parts[i].files);
}

static int print_pruned(const struct runs_list *list, const struct pruned *pruned, bool as_json)
{
    char bytes[32];
    if (as_json)
        return print_pruned_json(list, pruned);
    print_parts(list, pruned, output_print);
    output_print(ngettext("Freed %s of %zu run.\n", "Freed %s of %zu runs.\n", pruned->runs),
                 text_bytes(pruned->sum.bytes, bytes, sizeof bytes), pruned->runs);
    return EXIT_DONE;
}

static int prune_measured(const struct runs_list *list, enum run_keep keep, struct pruned *pruned,
                          bool yes, bool as_json)
{
    char what[200], bytes[32];
    struct error error;
    int status;
    measure(list, keep, pruned);
    snprintf(what, sizeof what,
             ngettext("weights of %zu run, %s, would be lost for good",
                      "weights of %zu runs, %s, would be lost for good", pruned->runs),
             pruned->runs, text_bytes(pruned->sum.bytes, bytes, sizeof bytes));
    if (!yes && pruned->runs > 0 && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        print_parts(list, pruned, output_note);
    if (pruned->runs > 0 && !agrees("--prune", what, yes, &status))
        return status;
    if (!prune_runs(list, keep, pruned, &error)) {
        print_pruned(list, pruned, as_json);
        return output_error(&error);
    }
    return print_pruned(list, pruned, as_json);
}

int runs_prune(const struct runs_list *list, enum run_keep keep, bool yes, bool as_json)
{
    struct error error;
    struct pruned pruned = {
        .parts = memory_new(list->count, sizeof *pruned.parts, "the runs to be pruned", &error)};
    if (!pruned.parts && list->count > 0)
        return output_error(&error);
    const int status = prune_measured(list, keep, &pruned, yes, as_json);
    free(pruned.parts);
    return status;
}

/* --- the trash --- */

int runs_undelete(void)
{
    struct error error;
    size_t restored;
    if (!run_trash_undo(&restored, &error))
        return output_error(&error);
    output_print(ngettext("Restored %zu run.\n", "Restored %zu runs.\n", restored), restored);
    return EXIT_DONE;
}

int runs_empty_trash(void)
{
    struct error error;
    size_t removed;
    if (!run_trash_empty(&removed, &error))
        return output_error(&error);
    output_print(ngettext("Removed %zu run for good.\n", "Removed %zu runs for good.\n", removed),
                 removed);
    return EXIT_DONE;
}
