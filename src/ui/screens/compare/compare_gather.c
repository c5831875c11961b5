/* Reads the runs that are compared one after the other in the background, because a saved run may
 * have a long journal. The table is built once all are read. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"

#include <math.h>
#include <string.h>

static const double POLL_SECONDS = 0.02;
static const double READ_SECONDS = 0.008; /* waits for a fast disk, to show the run in this frame */

/* Unloads the curves of saved runs that are no longer shown, to free their memory. */
static void unload_saved_runs(struct app *app)
{
    const struct run_entry *in_sight = app_entry(app);
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        if (&app->shared.saved_runs.entries[i] != in_sight)
            run_entry_unload_curves(&app->shared.saved_runs.entries[i]);
}

void compare_gather_begin(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct compare_gathering *gathering = &model->gathering;
    const struct run_entry *entry = app_run_in_front(app);
    loading_list_runs(app, true);
    compare_model_clear(model);
    unload_saved_runs(app);
    gathering->in_sight = entry ? entry->run : NULL;
    gathering->marked_only = runs_any_marked(app);
    gathering->running = true;
    gathering->held_count = 0;
    app_show(app, SCREEN_COMPARE);
}

bool compare_gather_hold(struct app *app, int key)
{
    struct compare_gathering *gathering = &compare_model(app)->gathering;
    if (gathering->replaying || (!gathering->running && gathering->held_count == 0))
        return false;
    if (gathering->held_count < COMPARE_HELD_KEYS)
        gathering->held[gathering->held_count++] = key;
    else
        app_refuse(app, _("No more keys are kept until the runs have been read."));
    return true;
}

/* Lets the first kept key act. */
static void replay_key(struct app *app)
{
    struct compare_gathering *gathering = &compare_model(app)->gathering;
    const int key = gathering->held[0];
    memmove(gathering->held, gathering->held + 1,
            --gathering->held_count * sizeof *gathering->held);
    gathering->replaying = true;
    app_press(app, key);
    gathering->replaying = false;
}

/* Returns whether the user has chosen the run: it matches the filter of the list and is marked, if
 * any of these is. The run that was in front belongs to them. */
static bool is_chosen(const struct app *app, size_t index)
{
    const struct compare_gathering *gathering = &compare_model(app)->gathering;
    const struct run_entry *entry = app_run_at(app, index);
    if (entry->run && entry->run == gathering->in_sight)
        return true;
    return runs_match(app, index) && (!gathering->marked_only || entry->marked);
}

/* Returns whether the run may have values. What is known of a run of another process may be old, so
 * that one is read in any case. */
static bool may_have_begun(const struct run_entry *entry)
{
    return !entry->refused && !run_entry_is_waiting(entry) && run_entry_directory(entry) &&
           (run_entry_is_saved(entry) ? entry->live || entry->snapshot.iteration > 0
                                      : entry->snapshot.status != RUN_PREPARING);
}

/* Returns whether the entry's run was read and, if it is a saved one, has an iteration. */
static bool has_begun(const struct run_entry *entry)
{
    struct run_snapshot snapshot;
    if (!entry->run || !run_entry_is_saved(entry))
        return entry->run;
    run_snapshot(entry->run, &snapshot);
    return snapshot.iteration > 0;
}

/* Returns the entry whose run was read, or NULL if it no longer exists. */
static struct run_entry *entry_of(struct app *app, const struct run_read *read)
{
    if (read->opened)
        return loading_find_entry(app, read->directory);
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->run == read->run)
            return app_run_at(app, i);
    return NULL;
}

/* Takes over the run that was being read. Returns false if reading is not complete. */
static bool take_read(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct compare_gathering *gathering = &model->gathering;
    if (!run_reader_wait(gathering->reader, READ_SECONDS))
        return false;
    struct run_read *read = run_reader_result(gathering->reader, 0);
    struct run_entry *entry = entry_of(app, read);
    if (entry && !entry->run) {
        run_entry_update(entry, read);
        app->shared.runs_changed = true;
        if (!entry->run)
            app_say_error(app, &entry->error);
    }
    if (read->files_error.kind != ERROR_NONE)
        app_say_error(app, &read->files_error);
    struct error error;
    if (!entry || !has_begun(entry))
        gathering->omitted++;
    else if (!compare_model_add(model, entry->run, &read->files, &error))
        app_say_error(app, &error);
    gathering->next++;
    run_reader_drop(gathering->reader);
    gathering->reader = NULL;
    return true;
}

/* Starts to read run number `index` if it belongs to the comparison. */
static void begin_read(struct app *app, size_t index)
{
    struct compare_gathering *gathering = &compare_model(app)->gathering;
    const struct run_entry *entry = app_run_at(app, index);
    const char *directory = run_entry_directory(entry);
    struct error error;
    const bool chosen = is_chosen(app, index);
    if (chosen && may_have_begun(entry)) {
        gathering->reader =
            run_reader_start_open(RUN_DEPTH_COMPARED, &directory, &entry->run, 1, &error);
        if (gathering->reader)
            return;
        app_say_error(app, &error);
    }
    gathering->omitted += chosen;
    gathering->next++;
}

static void end_gathering(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct compare_gathering *gathering = &model->gathering;
    struct error error;
    gathering->running = false;
    if (model->count > 0 && !compare_model_build(model, &error))
        app_say_error(app, &error);
    else if (model->count > 0 && gathering->omitted > 0) {
        app_say(app, ROLE_WARNING,
                ngettext("%zu run is left out: it has not begun, or cannot be read.",
                         "%zu runs are left out: they have not begun, or cannot be read.",
                         gathering->omitted),
                gathering->omitted);
        app->message.answers_key = true; /* that which opened this screen */
    }
    if (!compare_model_has_values(model, model->trace))
        compare_model_next_trace(model);
}

bool compare_gather_work(struct app *app)
{
    struct compare_gathering *gathering = &compare_model(app)->gathering;
    if (!app_is_in_front(app, SCREEN_COMPARE))
        return false;
    if (!gathering->running) {
        if (gathering->held_count > 0)
            replay_key(app);
        return gathering->held_count > 0;
    }
    if (loading_read_outlines(app))
        return true;
    if (loading_is_listing(app) || loading_any_unread(app) ||
        (gathering->reader && !take_read(app)))
        return false; /* compare_gather_busy has it called again soon */
    while (!gathering->reader && gathering->next < app_run_count(app))
        begin_read(app, gathering->next);
    if (!gathering->reader && gathering->next >= app_run_count(app))
        end_gathering(app);
    return gathering->running || gathering->held_count > 0;
}

double compare_gather_busy(const struct app *app)
{
    const bool reading =
        compare_model(app)->gathering.running && app_is_in_front(app, SCREEN_COMPARE);
    return reading ? POLL_SECONDS : INFINITY;
}
