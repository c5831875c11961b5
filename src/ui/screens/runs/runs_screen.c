/* The run table: the runs of this session, of which one is active while the others wait or are
 * complete, then the saved runs of earlier sessions, the newest first. runs_model.c chooses, groups
 * and sorts the rows, runs_columns.c the columns; runs_view.c draws them. */
#include "ui/app/app.h"
#include "ui/shared/run_offers.h"

#include "base/language.h"
#include "ui/app/other_runs.h"
#include "ui/app/questions.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_cells.h"
#include "ui/app/run_loading.h"
#include "ui/screens/runs/internal.h"

#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("watch"),
     N_("watch the selected run; open or close a group")},
    {' ', 0, ACTION_MARK, N_("space"), N_("mark"),
     N_("mark the run or group for a comparison, an export, tags or deletion, or not")},
    {'c', 0, ACTION_COMPARE, "c", N_("compare"),
     N_("compare the marked runs; without marks those that the list shows")},
    {'/', 0, ACTION_SEARCH, "/", N_("filter"),
     N_("show only runs that match: words, lr=0.1, network~resnet, top1>80, batch:32,64, "
        "lr:0.01..0.1, tag=good, status!=done, -word; Tab completes fields and values; Esc shows "
        "all again")},
    {'>', 0, ACTION_SORT, ">", N_("sort"), N_("sort by the next column")},
    {'<', 0, ACTION_SORT_BACK, "<", NULL, N_("sort by the column before")},
    {'i', 0, ACTION_REVERSE, "i", NULL, N_("reverse the order; unknown values stay last")},
    {'b', 0, ACTION_GROUP, "b", N_("group"),
     N_("group by a field: each group shows its number of runs, mean and standard deviation")},
    {UI_LEFT, 0, ACTION_LEFT, N_("Left"), NULL, N_("close the group")},
    {UI_RIGHT, 0, ACTION_RIGHT, N_("Right"), NULL, N_("open the group")},
    {'C', 0, ACTION_COLUMNS, "C", N_("columns"),
     N_("choose the columns; without a choice those in which the listed runs differ")},
    {'v', 0, ACTION_SAVED_VIEWS, "v", N_("views"), N_("show a saved view, or remove one (Del)")},
    {'V', 0, ACTION_SAVE_VIEW, "V", NULL,
     N_("save filter, columns, order and groups as a view with a name")},
    {'f', 0, ACTION_CLONE, "f", N_("to form"), N_("copy all settings of the run into the form")},
    {'r', 0, ACTION_RESUME, "r", N_("resume"),
     N_("go on with a run that was interrupted or stopped, from its last checkpoint")},
    {'F', 0, ACTION_FORK, "F", N_("fork"),
     N_("a new run from a checkpoint of this one, with other settings: asks for the checkpoint")},
    {'R', 0, ACTION_RENAME, "R", N_("name"), N_("give the run a name of your own")},
    {'t', 0, ACTION_TAGS, "t", N_("tags"),
     N_("tag the run, or add and remove tags (+good -bad) of the marked runs")},
    {'N', 0, ACTION_NOTE, "N", NULL, N_("write a note about the run")},
    {'d', UI_DELETE, ACTION_REMOVE, "d", N_("delete"),
     N_("delete the marked runs, or the selected one: asks; drop a run that waits")},
    {'w', 0, ACTION_PRUNE, "w", NULL,
     N_("delete weights and checkpoints of the marked runs, or the selected one: asks which stay")},
    {'U', 0, ACTION_UNDO, "U", N_("undo"),
     N_("undo the last change of a name, tags or a note, or the last deletion; deletions of "
        "earlier "
        "sessions, too")},
    {'X', 0, ACTION_EMPTY_TRASH, "X", NULL, N_("remove all deleted runs for good: asks")},
    {'a', 0, ACTION_ALL, "a", NULL, N_("mark every run of the list")},
    {'u', 0, ACTION_UNMARK, "u", NULL, N_("remove all marks")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the run above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the run below")},
    {UI_PAGE_UP, 0, ACTION_PAGE_UP, N_("PgUp"), NULL, NULL},
    {UI_PAGE_DOWN, 0, ACTION_PAGE_DOWN, N_("PgDn"), NULL, NULL},
    {UI_HOME, 0, ACTION_FIRST, N_("Home"), NULL, NULL},
    {UI_END, 0, ACTION_LAST, N_("End"), NULL, NULL},
    {'s', 0, ACTION_STOP, "s", N_("stop"),
     N_("stop the run that is on: asks how; take one that waits in another process out of the "
        "queue: asks")},
    {'n', 0, ACTION_FORM, "n", N_("new"), N_("set up another run")},
};
static const struct key_table table = {N_("The list of runs"), bindings,
                                       sizeof bindings / sizeof *bindings};

enum { PAGE = 10 };

/* --- keys --- */

static bool take_key(struct app *app, int key)
{
    return runs_choosers_key(app, key) || runs_filter_key(app, key);
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

static void mark(struct app *app, size_t index)
{
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

static void move(struct app *app, enum action action)
{
    long all = (long)runs_model(app)->row_count;
    long steps = action == ACTION_UP          ? -1
                 : action == ACTION_DOWN      ? 1
                 : action == ACTION_PAGE_UP   ? -PAGE
                 : action == ACTION_PAGE_DOWN ? PAGE
                 : action == ACTION_FIRST     ? -all
                                              : all;
    runs_model_move(app, steps);
}

static void open_row(struct app *app, size_t index)
{
    const struct runs_group *head = runs_model_head(app);
    if (head)
        runs_model_collapse(app, !head->collapsed);
    else if (index < app_run_count(app))
        app_show_run(app, index);
}

static void stop(struct app *app, size_t index)
{
    struct run_entry *entry = index < app_run_count(app) ? app_run_at(app, index) : NULL;
    if (!entry || (!runs_ask_leave(app, entry) && !others_ask_stop(app, entry)))
        ask_stop(app);
}

static void reverse(struct app *app)
{
    runs_model(app)->backwards = !runs_model(app)->backwards;
    app->shared.runs_changed = true;
}

/* Does an action that changes what the table shows, or its marks. Returns false for other actions.
 */
static bool act_on_table(struct app *app, enum action action)
{
    switch (action) {
    case ACTION_ALL:
        mark_all(app);
        return true;
    case ACTION_UNMARK:
        remove_marks(app);
        return true;
    case ACTION_SEARCH:
        runs_filter_begin(app);
        return true;
    case ACTION_SORT:
    case ACTION_SORT_BACK:
        runs_model_sort(app, action == ACTION_SORT ? 1 : -1);
        return true;
    case ACTION_REVERSE:
        reverse(app);
        return true;
    case ACTION_LEFT:
    case ACTION_RIGHT:
        runs_model_collapse(app, action == ACTION_LEFT);
        return true;
    case ACTION_COLUMNS:
        runs_choose_columns(app);
        return true;
    case ACTION_GROUP:
        runs_choose_group(app);
        return true;
    case ACTION_SAVED_VIEWS:
        runs_choose_view(app);
        return true;
    case ACTION_SAVE_VIEW:
        runs_ask_view_name(app);
        return true;
    default:
        return false;
    }
}

static void act(struct app *app, enum action action)
{
    runs_model_update(app);
    const size_t index = runs_model_index(app);
    if (act_on_table(app, action))
        return;
    switch (action) {
    case ACTION_OPEN:
        open_row(app, index);
        break;
    case ACTION_MARK:
        mark(app, index);
        break;
    case ACTION_COMPARE:
        app_go(app, SCREEN_COMPARE);
        break;
    case ACTION_RENAME:
        runs_ask_label(app, RUNS_LABEL_NAME, index);
        break;
    case ACTION_TAGS:
        runs_ask_label(app, RUNS_LABEL_TAGS, index);
        break;
    case ACTION_NOTE:
        runs_ask_label(app, RUNS_LABEL_NOTE, index);
        break;
    case ACTION_CLONE:
        run_actions_clone(app, index);
        break;
    case ACTION_FORK:
        ask_fork(app, index);
        break;
    case ACTION_RESUME:
        run_actions_resume(app, index);
        break;
    case ACTION_REMOVE:
        runs_ask_deletion(app, index);
        break;
    case ACTION_PRUNE:
        runs_ask_pruning(app, index);
        break;
    case ACTION_UNDO:
        runs_undo_last(app);
        break;
    case ACTION_EMPTY_TRASH:
        runs_ask_empty_trash(app);
        break;
    case ACTION_STOP:
        stop(app, index);
        break;
    case ACTION_FORM:
        app_show(app, SCREEN_SETUP);
        break;
    default:
        move(app, action);
        break;
    }
}

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

/* Returns why an action on the selected row or on the marked runs has nothing to act on, or NULL.
 */
static const char *refuses_selection(const struct app *app, enum action action)
{
    const bool run = runs_model_index(app) < app_run_count(app), head = runs_model_head(app);
    const bool marked = runs_any_marked(app);
    switch (action) {
    case ACTION_OPEN:
    case ACTION_MARK:
        return run || head ? NULL : _("The list has no run.");
    case ACTION_RENAME:
    case ACTION_NOTE:
    case ACTION_CLONE:
    case ACTION_RESUME:
    case ACTION_FORK:
        return run ? NULL : _("No run is selected.");
    case ACTION_TAGS:
    case ACTION_REMOVE:
    case ACTION_PRUNE:
        return run || marked ? NULL : _("No run is selected or marked.");
    case ACTION_UNMARK:
        return marked ? NULL : _("No run is marked.");
    default:
        return NULL;
    }
}

/* Returns why an action cannot apply to a run that waits in another process, or NULL. */
static const char *refuses_waiting(const struct app *app, enum action action)
{
    const size_t index = runs_model_index(app);
    if ((action == ACTION_REMOVE || action == ACTION_PRUNE) && runs_any_marked(app))
        return NULL;
    return index < app_run_count(app) ? runs_queue_refuses(app_run_at(app, index), action) : NULL;
}

/* Returns why nothing can be undone or removed for good, or NULL. */
static const char *refuses_trash(const struct app *app, enum action action)
{
    const struct runs_undo_step *step = runs_undo_newest(&runs_model(app)->undo);
    if (app->shared.deleted_runs > 0 || (action == ACTION_UNDO && step && !step->is_deletion))
        return NULL;
    return action == ACTION_UNDO ? _("There is nothing to undo: no deletion is left, no change.")
                                 : _("The trash is empty: d deletes runs.");
}

static const char *refuses(const struct app *app, enum action action)
{
    const struct runs_model *model = runs_model(app);
    const char *reason;
    if (app->shared.runs_changed || model->known != app_run_count(app) || loading_is_listing(app))
        return NULL; /* the rows are not up to date: `act` makes them */
    switch (action) {
    case ACTION_LEFT:
    case ACTION_RIGHT:
        return model->group_count > 0 ? NULL : _("There are no groups: b makes some.");
    case ACTION_UNDO:
    case ACTION_EMPTY_TRASH:
        return refuses_trash(app, action);
    case ACTION_COMPARE:
        return app_offers_comparison(app) ? NULL
                                          : _("There is no run whose curves can be compared.");
    case ACTION_ALL:
        return model->count > 0 ? NULL : _("The list has no run.");
    case ACTION_UP:
    case ACTION_DOWN:
    case ACTION_PAGE_UP:
    case ACTION_PAGE_DOWN:
    case ACTION_FIRST:
    case ACTION_LAST:
        return model->row_count > 1 ? NULL : _("There is no other line.");
    default:
        reason = refuses_selection(app, action);
        return reason ? reason : refuses_waiting(app, action);
    }
}

static bool offers(const struct app *app, enum action action)
{
    const size_t index = runs_model_index(app);
    const struct run_entry *entry = index < app_run_count(app) ? app_run_at(app, index) : NULL;
    if (action == ACTION_COMPARE)
        return app_offers_comparison(app);
    if (action == ACTION_MARK && !entry)
        return true; /* a group; `refuses` knows whether there is one */
    const bool of_marked =
        action == ACTION_REMOVE || action == ACTION_PRUNE || action == ACTION_TAGS;
    if (of_marked && runs_any_marked(app))
        return true;
    /* `refuses` also says this, but only while the rows are up to date; a live run outdates them */
    return run_offers_action(entry, action) && !runs_queue_refuses(entry, action);
}

static bool typing(const struct app *app)
{
    return runs_model(app)->filter_line.editing || runs_model(app)->choosers.chooser.open;
}

static bool completes(const struct app *app)
{
    return runs_model(app)->filter_line.editing;
}

static struct run_entry *selected_run(const struct app *app)
{
    const size_t index = runs_model_index(app);
    return index < app_run_count(app) ? app_run_at(app, index) : NULL;
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
    if (event == EVENT_RUN_REMOVED || event == EVENT_RUN_REPLACED)
        runs_preview_forget(&runs_model(app)->preview, entry ? run_entry_directory(entry) : NULL);
}

const struct screen runs_screen = {
    .name = N_("Runs"),
    .letter = 'o',
    .purpose = N_("the runs of this session and of earlier ones"),
    .keys = &table,
    .state_size = sizeof(struct runs_model),
    .begin = begin,
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .offers = offers,
    .refuses = refuses,
    .act = act,
    .draw = draw,
    .typing = typing,
    .list_keys = runs_choosers_keys,
    .completes = completes,
    .run = selected_run,
    .work = work,
    .busy = runs_preview_busy,
    .notice = notice,
};
