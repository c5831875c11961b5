/* The run table: the runs of this session, of which one is active while the others wait or are
 * complete, then the saved runs of earlier sessions, the newest first. runs_model.c chooses, groups
 * and sorts the rows, runs_columns.c the columns; runs_view.c draws them. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"
#include "ui/screens/runs/internal.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 10 };

/* --- keys --- */

static struct run_entry *selected_run(const struct app *app)
{
    const size_t index = runs_model_index(app);
    return index < app_run_count(app) ? app_run_at(app, index) : NULL;
}

static bool take_key(struct app *app, int key)
{
    if (runs_choosers_key(app, key) || runs_filter_key(app, key))
        return true;
    runs_model_update(app); /* what follows is about the rows as they are now */
    return false;
}

static bool can_be_marked(const struct run_entry *entry)
{
    return !run_entry_is_waiting(entry) && run_entry_directory(entry);
}

/* Marks all runs of a group; if all are marked, removes the marks. */
static void mark_group(struct app *app, const struct runs_group *group)
{
    const size_t *order = &runs_model(app)->order[group->first];
    bool all = true;
    for (size_t i = 0; i < group->count; i++)
        all =
            all && (app_run_at(app, order[i])->marked || !can_be_marked(app_run_at(app, order[i])));
    for (size_t i = 0; i < group->count; i++)
        app_run_at(app, order[i])->marked = !all && can_be_marked(app_run_at(app, order[i]));
    app->shared.runs_changed = true;
}

static void mark(struct app *app)
{
    const size_t index = runs_model_index(app);
    const struct runs_group *head = runs_model_head(app);
    if (head) {
        mark_group(app, head);
        return;
    }
    if (index >= app_run_count(app))
        return;
    struct run_entry *entry = app_run_at(app, index);
    if (can_be_marked(entry))
        entry->marked = !entry->marked;
    else
        app_say(app, ROLE_WARNING, _("This run has nothing to compare."));
    app->shared.runs_changed = true;
    runs_model_move(app, 1);
}

/* Marks the runs that the list shows. */
static void mark_all_now(struct app *app)
{
    size_t count = 0;
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        entry->marked = entry->marked || (runs_match(app, i) && can_be_marked(entry));
        count += entry->marked;
    }
    app->shared.runs_changed = true;
    app_say(app, ROLE_GOOD, ngettext("%zu run is marked.", "%zu runs are marked.", count), count);
}

/* Marks the runs that the list shows, once those that are still being read are in it: the folder is
 * listed, and what a filter asks about is read. */
static void mark_all(struct app *app)
{
    if (app->shared.runs_filter.count > 0)
        loading_read_all_then(app, mark_all_now);
    else
        loading_list_runs_then(app, mark_all_now);
}

static void remove_marks(struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        app_run_at(app, i)->marked = false;
    app->shared.runs_changed = true;
    app_say(app, ROLE_GOOD, _("The marks are removed."));
}

static void move(struct app *app, int how)
{
    runs_model_move(app, move_steps(how, PAGE, (long)runs_model(app)->row_count));
}

static void open_row(struct app *app)
{
    const size_t index = runs_model_index(app);
    const struct runs_group *head = runs_model_head(app);
    if (head)
        runs_model_collapse(app, !head->collapsed);
    else if (index < app_run_count(app))
        app_show_run(app, index);
}

static void stop(struct app *app)
{
    struct run_entry *entry = selected_run(app);
    if (!entry || (!runs_ask_leave(app, entry) && !others_ask_stop(app, entry)))
        ask_stop(app);
}

static void reverse(struct app *app)
{
    runs_model(app)->backwards = !runs_model(app)->backwards;
    app->shared.runs_changed = true;
}

static void collapse(struct app *app, int closed)
{
    runs_model_collapse(app, closed);
}

static void label(struct app *app, int kind)
{
    runs_ask_label(app, kind, runs_model_index(app));
}

static void copy_settings(struct app *app)
{
    run_actions_clone(app, runs_model_index(app));
}

static void fork_run(struct app *app)
{
    ask_fork(app, runs_model_index(app));
}

static void resume(struct app *app)
{
    run_actions_resume(app, runs_model_index(app));
}

static void delete_runs(struct app *app)
{
    runs_ask_deletion(app, runs_model_index(app));
}

static void prune(struct app *app)
{
    runs_ask_pruning(app, runs_model_index(app));
}

/* --- what can be done --- */

/* Returns the reason, or NULL while the rows are not up to date: the key makes them so. */
static const char *unless_outdated(const struct app *app, const char *why)
{
    const bool outdated = app->shared.runs_changed ||
                          runs_model(app)->known != app_run_count(app) || loading_is_listing(app);
    return outdated ? NULL : why;
}

/* Returns why something cannot be done with the selected run; `none` says that none is selected. */
static const char *refuses_selected(const struct app *app, enum run_offer offer, const char *none)
{
    const struct run_entry *entry = selected_run(app);
    const char *why = unless_outdated(app, entry ? runs_queue_refuses(entry, offer) : none);
    if (why)
        return why;
    return run_offers(entry, offer) && !runs_queue_refuses(entry, offer) ? NULL : ACTION_EXPLAINS;
}

static const char *refuses_run(const struct app *app, int offer)
{
    return refuses_selected(app, (enum run_offer)offer, _("No run is selected."));
}

/* The same for what concerns the marked runs, if any is marked. */
static const char *refuses_runs(const struct app *app, int offer)
{
    return runs_any_marked(app)
               ? NULL
               : refuses_selected(app, (enum run_offer)offer, _("No run is selected or marked."));
}

static const char *refuses_label(const struct app *app, int kind)
{
    return kind == RUNS_LABEL_TAGS ? refuses_runs(app, RUN_LABEL) : refuses_run(app, RUN_LABEL);
}

/* The same for a row that may also be the head of a group. */
static const char *refuses_row(const struct app *app, int offer)
{
    return runs_model_head(app)
               ? NULL
               : refuses_selected(app, (enum run_offer)offer, _("The list has no run."));
}

static const char *refuses_stop(const struct app *app)
{
    return run_offers(selected_run(app), RUN_STOP) ? NULL : ACTION_EXPLAINS;
}

static const char *refuses_unmark(const struct app *app)
{
    return unless_outdated(app, runs_any_marked(app) ? NULL : _("No run is marked."));
}

static const char *refuses_mark_all(const struct app *app)
{
    return unless_outdated(app, runs_model(app)->count > 0 ? NULL : _("The list has no run."));
}

static const char *refuses_compare(const struct app *app)
{
    if (app_offers_comparison(app))
        return NULL;
    const char *why = unless_outdated(app, _("There is no run whose curves can be compared."));
    return why ? why : ACTION_EXPLAINS;
}

static const char *refuses_collapse(const struct app *app, int closed)
{
    (void)closed;
    return unless_outdated(
        app, runs_model(app)->group_count > 0 ? NULL : _("There are no groups: b makes some."));
}

static const char *refuses_undo(const struct app *app)
{
    const struct runs_undo_step *step = runs_undo_newest(&runs_model(app)->undo);
    return app->shared.deleted_runs > 0 || (step && !step->is_deletion)
               ? NULL
               : unless_outdated(app,
                                 _("There is nothing to undo: no deletion is left, no change."));
}

static const char *refuses_empty_trash(const struct app *app)
{
    return app->shared.deleted_runs > 0
               ? NULL
               : unless_outdated(app, _("The trash is empty: d deletes runs."));
}

static const char *refuses_move(const struct app *app, int how)
{
    (void)how;
    return unless_outdated(app,
                           runs_model(app)->row_count > 1 ? NULL : _("There is no other line."));
}

static const struct action actions[] = {
    {"Enter", "watch", N_("watch"), N_("watch the selected run; open or close a group"),
     .run = open_row, .refused_with = refuses_row, .argument = RUN_WATCH},
    {"space", "mark", N_("mark"),
     N_("mark the run or group for a comparison, an export, tags or deletion, or not"), .run = mark,
     .refused_with = refuses_row, .argument = RUN_MARK},
    {"c", "compare", N_("compare"),
     N_("compare the marked runs; without marks those that the list shows"), .run_with = action_go,
     .refused = refuses_compare, .argument = SCREEN_COMPARE},
    {"/", "filter", N_("filter"),
     N_("show only runs that match: words, lr=0.1, network~resnet, top1>80, batch:32,64, "
        "lr:0.01..0.1, tag=good, status!=done, -word; Tab completes fields and values; Esc shows "
        "all again"),
     .run = runs_filter_begin},
    {">", "sort", N_("sort"), N_("sort by the next column"), .run_with = runs_model_sort,
     .argument = 1},
    {"<", "sort-back", NULL, N_("sort by the column before"), .run_with = runs_model_sort,
     .argument = -1},
    {"i", "reverse", NULL, N_("reverse the order; unknown values stay last"), .run = reverse},
    {"b", "group", N_("group"),
     N_("group by a field: each group shows its number of runs, mean and standard deviation"),
     .run = runs_choose_group},
    {"Left", "close-group", NULL, N_("close the group"), collapse, refuses_collapse,
     .argument = true},
    {"Right", "open-group", NULL, N_("open the group"), collapse, refuses_collapse,
     .argument = false},
    {"C", "columns", N_("columns"),
     N_("choose the columns; without a choice those in which the listed runs differ"),
     .run = runs_choose_columns},
    {"v", "views", N_("views"), N_("show a saved view, or remove one (Del)"),
     .run = runs_choose_view},
    {"V", "save-view", NULL, N_("save filter, columns, order and groups as a view with a name"),
     .run = runs_ask_view_name},
    {"f", "to-form", N_("to form"), N_("copy all settings of the run into the form"),
     .run = copy_settings, .refused_with = refuses_run, .argument = RUN_CLONE},
    {"r", "resume", N_("resume"),
     N_("go on with a run that was interrupted or stopped, from its last checkpoint"),
     .run = resume, .refused_with = refuses_run, .argument = RUN_RESUME},
    {"F", "fork", N_("fork"),
     N_("a new run from a checkpoint of this one, with other settings: asks for the checkpoint"),
     .run = fork_run, .refused_with = refuses_run, .argument = RUN_WEIGHTS},
    {"R", "name", N_("name"), N_("give the run a name of your own"), label, refuses_label,
     .argument = RUNS_LABEL_NAME},
    {"t", "tags", N_("tags"),
     N_("tag the run, or add and remove tags (+good -bad) of the marked runs"), label,
     refuses_label, .argument = RUNS_LABEL_TAGS},
    {"N", "note", NULL, N_("write a note about the run"), label, refuses_label,
     .argument = RUNS_LABEL_NOTE},
    {"d (Del)", "delete", N_("delete"),
     N_("delete the marked runs, or the selected one: asks; drop a run that waits"),
     .run = delete_runs, .refused_with = refuses_runs, .argument = RUN_REMOVE},
    {"w", "prune", NULL,
     N_("delete weights and checkpoints of the marked runs, or the selected one: asks which stay"),
     .run = prune, .refused_with = refuses_runs, .argument = RUN_PRUNE},
    {"U", "undo", N_("undo"),
     N_("undo the last change of a name, tags or a note, or the last deletion; deletions of "
        "earlier "
        "sessions, too"),
     .run = runs_undo_last, .refused = refuses_undo},
    {"X", "empty-trash", NULL, N_("remove all deleted runs for good: asks"),
     .run = runs_ask_empty_trash, .refused = refuses_empty_trash},
    {"a", "mark-all", NULL, N_("mark every run of the list"), .run = mark_all,
     .refused = refuses_mark_all},
    {"u", "unmark-all", NULL, N_("remove all marks"), .run = remove_marks,
     .refused = refuses_unmark},
    {"Up", "up", NULL, N_("the run above"), move, refuses_move, .argument = MOVE_UP},
    {"Down", "down", NULL, N_("the run below"), move, refuses_move, .argument = MOVE_DOWN},
#define ACTIONS_PAGES move, refuses_move
#define ACTIONS_ENDS  move, refuses_move
#include "ui/app/actions.inc"
    {"s", "stop", N_("stop"),
     N_("stop the run that is on: asks how; take one that waits in another process out of the "
        "queue: asks"),
     .run = stop, .refused = refuses_stop},
    {"n", "new", N_("new"), N_("set up another run"), .run_with = action_go,
     .argument = SCREEN_SETUP},
};
/* --- the screen --- */

static void title(const struct app *app, char *text, size_t size)
{
    const struct runs_model *model = runs_model(app);
    const struct glyphs *glyphs = app->canvas.glyphs;
    if (model->sort == FIELD_NONE && !model->backwards)
        snprintf(text, size, "%s", _("Runs"));
    else
        snprintf(text, size, _("Runs by %s %s"),
                 model->sort == FIELD_NONE ? _("start") : runs_heading(model->sort),
                 model->backwards ? glyphs->down : glyphs->up);
}

static void draw(struct app *app, struct rect body)
{
    runs_view_draw(app, body);
    runs_choosers_draw(app);
}

static void begin(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct error error;
    model->sort = model->group = FIELD_NONE;
    if (!saved_views_read(&model->views, &error))
        app_say_error(app, &error);
    memcpy(model->columns.chosen, model->views.present.columns, sizeof model->columns.chosen);
    model->columns.chosen_count = model->views.present.column_count;
}

static void open(struct app *app)
{
    loading_list_runs(app, true);
    runs_preview_forget(&runs_model(app)->preview, NULL);
}

static void close(struct app *app)
{
    runs_preview_free(&runs_model(app)->preview);
    runs_model_free(runs_model(app));
}

static const struct actions *over(const struct app *app)
{
    return runs_model(app)->filter_line.editing ? &actions_completing : runs_choosers_over(app);
}

static bool work(struct app *app)
{
    runs_preview_work(app);
    if (app_is_in_front(app, SCREEN_HELP)) /* it shows what the selected row offers */
        runs_model_update(app);
    return app_is_in_front(app, SCREEN_RUNS) && runs_model_read_outlines(app);
}

/* The panel must not show a run that is freed or read again. */
static void notice(struct app *app, enum screen_event event, struct run_entry *entry)
{
    if (event == EVENT_BEGIN)
        begin(app);
    if (event == EVENT_RUN_REMOVED || event == EVENT_RUN_REPLACED)
        runs_preview_forget(&runs_model(app)->preview, entry ? run_entry_directory(entry) : NULL);
}

const struct screen runs_screen = {
    .name = N_("Runs"),
    .letter = 'o',
    .purpose = N_("the runs of this session and of earlier ones"),
    .actions = {ACTIONS(N_("The list of runs"), actions)},
    .state_size = sizeof(struct runs_model),
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .draw = draw,
    .over = over,
    .run = selected_run,
    .work = work,
    .busy = runs_preview_busy,
    .notice = notice,
};
