/* Pruning deletes weights and checkpoints for good (runs/folder/run_prune.h), unlike a
 * deletion, whose files wait in the trash: it is there to free space, and the question says so.
 * The question says how much each answer frees, which is measured before. The runs in question are
 * marked as those of a deletion are, because both lists may change while the dialog is open. Runs
 * that are on or wait are left alone. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_prune.h"
#include "ui/app/app.h"
#include "ui/app/exporting.h"
#include "ui/app/run_cells.h"
#include "ui/app/run_loading.h"

#include <stdio.h>

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
