/* A deletion moves the runs to the trash (runs/history/run_trash.h), from which U restores them.
 * A run outside the folder of runs (--run-dir) cannot be moved there: it is removed for good, and
 * the question says so. The question marks its runs, because both lists may change while it is
 * open. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_prune.h"
#include "runs/history/run_trash.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Selects the runs that the question is about: the marked runs that the table shows or, without
 * marks, run number `index`. A later change of the lists or marks does not change this selection.
 * Returns the number of marked runs. */
static size_t select_runs(struct app *app, size_t index)
{
    const size_t marked = runs_marked_count(app);
    for (size_t i = 0; i < app_run_count(app); i++)
        app_run_at(app, i)->deletion_candidate = marked > 0 ? runs_is_marked(app, i) : i == index;
    return marked;
}

static bool delete_one(struct app *app, const char *deletion, struct run_entry *entry,
                       struct error *error)
{
    const char *directory = run_entry_directory(entry);
    const bool deleted = run_trash_takes(directory) ? run_trash_put(deletion, directory, error)
                                                    : run_remove(directory, error);
    if (deleted)
        app_drop_entry(app, entry);
    return deleted;
}

static void answer_delete(struct app *app, size_t choice)
{
    struct error error;
    size_t deleted = 0, restorable = 0;
    if (choice != 1) /* choice 0 keeps the runs */
        return;
    char *deletion = run_trash_begin(&error);
    bool good = deletion;
    for (size_t i = app_run_count(app); good && i-- > 0;)
        if (app_run_at(app, i)->deletion_candidate) {
            const bool kept = run_trash_takes(run_entry_directory(app_run_at(app, i)));
            good = delete_one(app, deletion, app_run_at(app, i), &error);
            deleted += good;
            restorable += good && kept;
        }
    app->shared.deleted_runs += restorable;
    if (restorable > 0)
        runs_undo_add_deletion(&runs_model(app)->undo);
    if (deletion)
        run_trash_end(deletion);
    free(deletion);
    if (!good)
        app_say_error(app, &error);
    else
        app_say(app, ROLE_GOOD,
                ngettext("Deleted %zu run: U restores it.", "Deleted %zu runs: U restores them.",
                         deleted),
                deleted);
}

static bool check(const struct run_entry *entry, struct run_removal *removal, struct error *error)
{
    const char *directory = run_entry_directory(entry);
    if (entry->queue.rank > 0)
        return error_set(error, ERROR_USAGE, runs_display_name(entry),
                         "s takes it out of the queue", "this run waits to be resumed");
    if (run_entry_is_active(entry))
        return error_set(error, ERROR_USAGE, runs_display_name(entry), "s stops it",
                         "this run is on");
    return run_remove_check(directory, removal, error);
}

/* Adds up the files and bytes of the runs that the answer would delete. Sets *for_good if one of
 * them cannot be restored. Returns false if one of them cannot be deleted. */
static bool check_deletion(const struct app *app, struct run_removal *removal, bool *for_good,
                           struct error *error)
{
    *for_good = false;
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (!entry->deletion_candidate)
            continue;
        if (!check(entry, removal, error))
            return false;
        *for_good = *for_good || !run_trash_takes(run_entry_directory(entry));
    }
    return true;
}

static void ask_delete(struct app *app, size_t index)
{
    struct error error;
    bool for_good;
    struct run_removal removal = {0};
    const size_t marked = select_runs(app, index);
    if (!check_deletion(app, &removal, &for_good, &error)) {
        app_say_error(app, &error);
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Delete?"), answer_delete);
    const double megabytes = (double)removal.bytes / 1e6;
    char what[256], after[160];
    if (marked > 0)
        snprintf(what, sizeof what,
                 ngettext("%zu marked run with its curves and models, %.1f MB in %zu files.",
                          "%zu marked runs with their curves and models, %.1f MB in %zu files.",
                          marked),
                 marked, megabytes, removal.files);
    else
        snprintf(what, sizeof what,
                 _("1 run, %.64s, with its curves and models, %.1f MB in %zu files."),
                 runs_display_name(app_run_at(app, index)), megabytes, removal.files);
    if (for_good)
        snprintf(after, sizeof after, "%s", _("It would be lost for good: it lies elsewhere."));
    else
        snprintf(after, sizeof after, _("U restores it for %d days."), RUN_TRASH_DAYS);
    snprintf(dialog->text, sizeof dialog->text, "%.230s %.150s", what, after);
    dialog_offer(dialog, 'k', 'n', _("keep"));
    dialog_offer(dialog, 'd', 'y', _("delete"));
}

/* Removes a waiting run from the queue; a refused run stays. Neither has files. */
static void drop(struct app *app, size_t index)
{
    if (run_list_remove(&app->shared.runs, index)) {
        if (!app->shared.shown_is_saved && app->shared.shown > index &&
            app->shared.shown != SIZE_MAX)
            app->shared.shown--;
        app_say(app, ROLE_GOOD, _("It was dropped from the queue."));
    } else
        app_say(app, ROLE_WARNING, _("This run has no files to delete."));
    app->shared.runs_changed = true;
}

void runs_ask_deletion(struct app *app, size_t index)
{
    const bool is_run = index < app_run_count(app);
    const size_t marked = runs_marked_count(app);
    if (!is_run && marked == 0)
        app_say(app, ROLE_WARNING, _("There is no run to delete."));
    else if (marked == 0 && !run_entry_directory(app_run_at(app, index))) {
        if (!runs_ask_leave(app, app_run_at(app, index)))
            drop(app, index);
    } else if (exporting_is_active(app))
        app_say(app, ROLE_WARNING, _("An export is still being written; try again after it."));
    else
        ask_delete(app, index);
}

/* --- the trash --- */

/* Restores the last deletion, which an earlier session may have done. */
static void undo_deletion(struct app *app)
{
    struct error error;
    size_t restored;
    const bool good = run_trash_undo(&restored, &error);
    loading_list_runs(app, true);
    if (!good)
        app_say_error(app, &error);
    else
        app_say(app, ROLE_GOOD, ngettext("Restored %zu run.", "Restored %zu runs.", restored),
                restored);
}

void runs_undo_last(struct app *app)
{
    struct runs_undo *undo = &runs_model(app)->undo;
    const struct runs_undo_step *step = runs_undo_newest(undo);
    if (step && !step->is_deletion) {
        runs_undo_label(app);
        return;
    }
    runs_undo_drop(undo);
    undo_deletion(app);
}

static void answer_empty(struct app *app, size_t choice)
{
    struct error error;
    size_t removed;
    if (choice != 1)
        return;
    const bool good = run_trash_empty(&removed, &error);
    loading_list_runs(app, true);
    if (good)
        app_say(app, ROLE_GOOD,
                ngettext("Removed %zu run for good.", "Removed %zu runs for good.", removed),
                removed);
    else
        app_say_error(app, &error);
}

void runs_ask_empty_trash(struct app *app)
{
    struct error error;
    struct run_removal removal = {0};
    size_t runs;
    if (!run_trash_measure(&runs, &removal, &error)) {
        app_say_error(app, &error);
        return;
    }
    if (runs == 0) {
        app_say(app, ROLE_WARNING, _("The trash is empty: d deletes runs."));
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Empty the trash?"), answer_empty);
    snprintf(dialog->text, sizeof dialog->text,
             ngettext("%zu deleted run, %.1f MB, would be lost for good.",
                      "%zu deleted runs, %.1f MB, would be lost for good.", runs),
             runs, (double)removal.bytes / 1e6);
    dialog_offer(dialog, 'k', 'n', _("keep"));
    dialog_offer(dialog, 'd', 'y', _("delete"));
}

/* --- weights alone ---
 *
 * Pruning deletes weights and checkpoints for good (runs/folder/run_prune.h), unlike a
 * deletion, whose files wait in the trash: it is there to free space, and the question says so.
 * The question says how much each answer frees, which is measured before. The runs in question are
 * marked as those of a deletion are, because both lists may change while the dialog is open. Runs
 * that are on or wait are left alone. */

enum { KEEPS = 3 }; /* the answers that delete: enum run_keep */

static bool can_be_pruned(const struct run_entry *entry)
{
    const char *directory = run_entry_directory(entry);
    return directory && entry->queue.rank == 0 && !run_entry_is_active(entry) &&
           !run_directory_is_alive(directory);
}

/* Selects the runs that the question is about, and measures what each answer frees. Returns their
 * number; *spared is that of the marked runs which are on or wait. */
static size_t measure(struct app *app, size_t index, struct run_pruning parts[KEEPS],
                      size_t *spared)
{
    const size_t marked = runs_marked_count(app);
    size_t runs = 0;
    *spared = 0;
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        const bool wanted = marked > 0 ? runs_is_marked(app, i) : i == index;
        entry->deletion_candidate = wanted && can_be_pruned(entry);
        *spared += wanted && !entry->deletion_candidate;
        if (!entry->deletion_candidate)
            continue;
        runs++;
        for (size_t keep = 0; keep < KEEPS; keep++) {
            struct run_pruning part;
            run_prune_measure(run_entry_directory(entry), (enum run_keep)keep, &part);
            parts[keep].files += part.files;
            parts[keep].bytes += part.bytes;
        }
    }
    return runs;
}

static void answer(struct app *app, size_t choice)
{
    struct error error;
    struct run_pruning sum = {0}, part;
    size_t runs = 0;
    bool good = true;
    if (choice == 0) /* keep all */
        return;
    for (size_t i = 0; good && i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (!entry->deletion_candidate)
            continue;
        good = run_prune(run_entry_directory(entry), (enum run_keep)(choice - 1), &part, &error);
        runs += part.files > 0;
        sum.files += part.files;
        sum.bytes += part.bytes;
    }
    loading_list_runs(app, true);
    if (!good)
        app_say_error(app, &error);
    else
        app_say(app, ROLE_GOOD,
                ngettext("Deleted weights of %zu run: %.1f MB in %zu files.",
                         "Deleted weights of %zu runs: %.1f MB in %zu files.", runs),
                runs, (double)sum.bytes / 1e6, sum.files);
}

static void ask(struct app *app, size_t index, size_t runs, const struct run_pruning parts[KEEPS],
                size_t spared)
{
    struct dialog *dialog = dialog_begin(app, _("Delete weights?"), answer);
    char what[120], left[80] = "";
    if (runs == 1 && runs_marked_count(app) == 0)
        snprintf(what, sizeof what, _("1 run, %.64s"), runs_display_name(app_run_at(app, index)));
    else
        snprintf(what, sizeof what, ngettext("%zu marked run", "%zu marked runs", runs), runs);
    if (spared > 0)
        snprintf(left, sizeof left,
                 ngettext(" %zu run that is on or waits is left alone.",
                          " %zu runs that are on or wait are left alone.", spared),
                 spared);
    snprintf(dialog->text, sizeof dialog->text,
             _("%s: to keep the best model frees %.1f MB, the last weights %.1f MB, none %.1f MB. "
               "The files are lost for good; settings, curves and results stay.%s"),
             what, (double)parts[RUN_KEEP_BEST].bytes / 1e6,
             (double)parts[RUN_KEEP_LAST].bytes / 1e6, (double)parts[RUN_KEEP_NONE].bytes / 1e6,
             left);
    dialog_offer(dialog, 'k', 'n', _("keep all"));
    dialog_offer(dialog, 'b', 0, _("keep the best model"));
    dialog_offer(dialog, 'l', 0, _("keep the last weights"));
    dialog_offer(dialog, 'd', 0, _("delete all weights"));
}

void runs_ask_pruning(struct app *app, size_t index)
{
    struct run_pruning parts[KEEPS] = {{0}};
    size_t spared;
    if (exporting_is_active(app)) {
        app_say(app, ROLE_WARNING, _("An export is still being written; try again after it."));
        return;
    }
    const size_t runs = measure(app, index, parts, &spared);
    if (runs == 0)
        app_say(app, ROLE_WARNING,
                spared > 0 ? _("A run that is on or waits keeps its weights.")
                           : _("No run is selected or marked."));
    else if (parts[RUN_KEEP_NONE].files == 0)
        app_say(app, ROLE_WARNING, _("There are no weights to delete."));
    else
        ask(app, index, runs, parts, spared);
}
