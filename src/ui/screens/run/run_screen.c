/* The run screen's table and keys. It shows one view of a run (views.c) and its values. Keys go to
 * the cursor or list that is open, then to the view in front, then to the screen; commands (pause,
 * stop, learning rate, checkpoint) are sent to the run's worker. A completed run is shown as its
 * last snapshot. */
#include "data/images/spec_value.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/portable/portable.h"
#include "base/text.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/app/plot_actions.h"
#include "ui/app/questions.h"
#include "ui/app/run_actions.h"
#include "ui/screens/run/internal.h"
#include "ui/shared/run_offers.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {' ', 0, ACTION_PAUSE, N_("space"), N_("pause"), N_("pause the run, and go on")},
    {'s', 0, ACTION_STOP, "s", N_("stop"),
     N_("stop the run: asks whether now or after this epoch")},
    {'r', 0, ACTION_RESUME, "r", N_("resume"),
     N_("go on with a run that was interrupted or stopped, from its last checkpoint")},
    {'t', 0, ACTION_TRY, "t", N_("try"), N_("try the weights that the run has saved")},
    {'F', 0, ACTION_FORK, "F", N_("fork"),
     N_("a new run from a checkpoint of this one, with other settings: asks for the checkpoint")},
    {'c', 0, ACTION_COMPARE, "c", N_("compare"),
     N_("compare this run with the marked ones, or with all that are finished")},
    {'e', 0, ACTION_EXPORT, "e", N_("export"),
     N_("export this run, the session or the marked runs: JSON, CSV, picture, report; asks")},
    {'v', 0, ACTION_VIEW, "v", N_("view"),
     N_("the next view: curves, findings, memory, the plan's arena, layers, matrix products, "
        "weights, Caffe's mean; of networks that make pictures a sample, of several processes "
        "ranks")},
    {'1', 0, ACTION_VIEW_1, "1 .. 9", NULL, N_("one of these views: its digit stands at its tab")},
    {'2', 0, ACTION_VIEW_1 + 1, "2", NULL, NULL},
    {'3', 0, ACTION_VIEW_1 + 2, "3", NULL, NULL},
    {'4', 0, ACTION_VIEW_1 + 3, "4", NULL, NULL},
    {'5', 0, ACTION_VIEW_1 + 4, "5", NULL, NULL},
    {'6', 0, ACTION_VIEW_1 + 5, "6", NULL, NULL},
    {'7', 0, ACTION_VIEW_1 + 6, "7", NULL, NULL},
    {'8', 0, ACTION_VIEW_1 + 7, "8", NULL, NULL},
    {'9', 0, ACTION_VIEW_1 + 8, "9", NULL, NULL},
    {'R', 0, ACTION_VIEW_LAST, "R", NULL,
     N_("of a run of several processes: what each rank computes, and how long it waits")},
    {'y', 0, ACTION_QUANTITY, "y", N_("picture"),
     N_("what the curves show: losses, accuracy, Caffe's mean, ms/image")},
    {'Y', 0, ACTION_TRACES, "Y", N_("curves"), N_("switch each curve on and off")},
    {'i', 0, ACTION_CURSOR, "i", N_("inspect"),
     N_("a cursor that reads the values of all curves, moved by Left, Right, PgUp, PgDn, Home and "
        "End; i again or Esc puts it away")},
    {'b', 0, ACTION_BEST, "b", NULL, N_("the cursor to the best epoch")},
    {'f', 0, ACTION_FINDING, "f", NULL,
     N_("the cursor to the next finding; in the loss lab where Caffe's mean falls below zero")},
    {'M', 0, ACTION_NEXT_MARK, "M", NULL,
     N_("the cursor to the next mark: a finding, the best epoch, a new learning rate (L), a resume "
        "(R), a fork (F); + stands for several in one column")},
    {'z', 0, ACTION_ZOOM_IN, "z", N_("zoom"),
     N_("zoom in at the cursor, else at the newest points, which stay visible")},
    {'Z', 0, ACTION_ZOOM_OUT, "Z", NULL, N_("zoom out")},
    {'0', 0, ACTION_ZOOM_ALL, "0", NULL, N_("show the whole run")},
    {'<', 0, ACTION_PAN_LEFT, "<", NULL, N_("scroll a zoomed plot to the left")},
    {'>', 0, ACTION_PAN_RIGHT, ">", NULL, N_("scroll it to the right")},
    {'l', 0, ACTION_SCALE, "l", N_("log"), N_("axis scales: linear, log x, log y, log both")},
    {'S', 0, ACTION_SMOOTHING, "S", N_("smoothing"),
     N_("the next strength of smoothing: as the run says, 0, 0.6, 0.9, 0.97, 0.99, 0.999")},
    {'a', 0, ACTION_RANGE, "a", NULL,
     N_("let the y axis show all values, or leave out outliers (^ and v mark them)")},
    {'x', 0, ACTION_X, "x", N_("axis"), N_("the x axis: iteration, epoch, time")},
    {'g', 0, ACTION_SYMBOLS, "g", N_("symbols"), N_("graph symbols: braille, block, ASCII")},
    {'L', 0, ACTION_RATE, "L", N_("rate"), N_("change the learning rate")},
    {'+', '=', ACTION_RATE_UP, "+", NULL, N_("propose twice the learning rate")},
    {'-', 0, ACTION_RATE_DOWN, "-", NULL, N_("propose half the learning rate")},
    {'w', 0, ACTION_SAVE, "w", NULL, N_("write a checkpoint now")},
    {UI_TAB, 0, ACTION_NEXT, "Tab", NULL, N_("the next run of this session")},
    {UI_BACK_TAB, 0, ACTION_PREVIOUS, "S-Tab", NULL, N_("the run before")},
    {'n', 0, ACTION_FORM, "n", N_("new"), N_("set up another run")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL,
     N_("within a view: scroll, select a row or an array, another example of the sample")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, NULL},
    {UI_PAGE_UP, ',', ACTION_PAGE_UP, "PgUp ,", NULL,
     N_("a page; the cursor of the curves a tenth of the plot to the left")},
    {UI_PAGE_DOWN, '.', ACTION_PAGE_DOWN, "PgDn .", NULL,
     N_("a page; the cursor of the curves a tenth of the plot to the right")},
    {UI_HOME, 0, ACTION_FIRST, "Home", NULL, NULL},
    {UI_END, 0, ACTION_LAST, "End", NULL, NULL},
    {UI_LEFT, 0, ACTION_LEFT, N_("Left"), NULL,
     N_("sort a table by the column before; in the arena the plan before, in the loss lab the "
        "iteration before")},
    {UI_RIGHT, 0, ACTION_RIGHT, N_("Right"), NULL,
     N_("sort a table by the next column; in the arena the next plan, in the loss lab the next "
        "iteration")},
    {UI_ENTER, 0, ACTION_OPEN, "Enter", NULL,
     N_("the selected row's details, where a table leaves no room for them")},
};
static const struct key_table table = {N_("Watching a run"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const double POLL_SECONDS = 0.02;

/* --- keys --- */

static bool send(struct app *app, enum run_command command, const char *words)
{
    struct run_entry *entry = app_entry(app);
    bool on = entry && run_entry_is_active(entry), sent = on && run_send(entry->run, command, 0);
    if (!on)
        app_say(app, ROLE_WARNING, "This run is not on.");
    else if (sent)
        app_say(app, ROLE_GOOD, "%s", words);
    else
        app_say(app, ROLE_WARNING, "The run is busy; try again.");
    return sent;
}

static void pause_or_go_on(struct app *app)
{
    struct run_entry *entry = app_entry(app);
    bool paused = entry && entry->pause_asked;
    if (send(app, paused ? COMMAND_GO_ON : COMMAND_PAUSE,
             paused ? _("It continues.") : _("Paused after this iteration; space goes on.")))
        entry->pause_asked = !paused;
}

static void next_picture(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    if (entry && entry->run)
        app_say(app, ROLE_STRONG, _("Curves: %s."),
                trace_choice_next(&run_model(app)->choice, run_series(entry->run)));
}

/* Returns whether the action concerns the curves, so that it brings their view to the front. */
static bool is_about_curves(enum action action)
{
    static const enum action actions[] = {
        ACTION_TRACES,  ACTION_CURSOR,   ACTION_BEST,     ACTION_FINDING,  ACTION_NEXT_MARK,
        ACTION_ZOOM_IN, ACTION_ZOOM_OUT, ACTION_ZOOM_ALL, ACTION_PAN_LEFT, ACTION_PAN_RIGHT};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (actions[i] == action)
            return true;
    return false;
}

static void switch_run(struct app *app, size_t step)
{
    bool earlier = app->shared.shown_is_saved;
    if (app->shared.runs.count < 2 - (size_t)earlier) {
        app_say(app, ROLE_WARNING, "There is no other run of this session; n sets one up.");
        return;
    }
    app_show_run(app, earlier ? 0
                              : (app->shared.shown + app->shared.runs.count + step) %
                                    app->shared.runs.count);
}

static bool take_key(struct app *app, int key)
{
    const struct run_entry *entry = app_entry(app);
    if (views_shown(app, entry) != &view_curves || !entry || !entry->run)
        return false;
    if (!run_model(app)->choice.open)
        return plot_leave_cursor(&run_model(app)->window, key);
    trace_list_key(&run_model(app)->choice, run_series(entry->run), key);
    return true;
}

static bool take_mouse(struct app *app, int event, int row, int column)
{
    const struct run_entry *entry = app_entry(app);
    struct run_model *model = run_model(app);
    if (views_shown(app, entry) != &view_curves || !entry || !entry->run || model->choice.open)
        return false;
    return plot_take_mouse(&model->window, model->plot_area, event, row, column);
}

/* --- the dialog for another learning rate --- */

static void answer_rate(struct app *app, size_t choice)
{
    double rate;
    (void)choice;
    if (!text_to_double(app->dialog.edit.text, &rate) || rate < 0) {
        snprintf(app->dialog.note, sizeof app->dialog.note,
                 _("This is not a learning rate: give a number such as 0.01."));
        app->dialog.open = true;
    } else if (questions_send_command(app, COMMAND_LEARNING_RATE, rate))
        app_say(app, ROLE_GOOD, "The learning rate is %g from the next iteration on.", rate);
}

static void set_rate(struct dialog *dialog, double rate)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", rate);
    line_edit_begin(&dialog->edit, text, 32, true);
    dialog->note[0] = '\0';
}

/* Doubles the number in the dialog, or halves it. */
static bool rate_key(struct app *app, int key)
{
    double rate;
    if ((key != UI_UP && key != UI_DOWN && key != '+') ||
        !text_to_double(app->dialog.edit.text, &rate))
        return false;
    set_rate(&app->dialog, key == UI_DOWN ? rate / 2 : rate * 2);
    return true;
}

static void clear_note(struct app *app)
{
    app->dialog.note[0] = '\0';
}

/* Opens the dialog with the present learning rate times `factor` as the proposal. */
static void ask_rate(struct app *app, double factor)
{
    const struct run_entry *entry = questions_target_run(app);
    if (!entry) {
        app_say(app, ROLE_WARNING, "No run is on: set the learning rate in the form.");
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Learning rate"), answer_rate);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("It is %g now. The schedule goes on from the new rate. Up and down double and halve it."),
        entry->snapshot.learning_rate);
    dialog->edit_key = rate_key;
    dialog->edited = clear_note;
    set_rate(dialog, entry->snapshot.learning_rate * factor);
}

/* --- actions --- */

/* Returns whether the action is a command to the run. */
static bool is_command(enum action action)
{
    return action == ACTION_PAUSE || action == ACTION_SAVE || action == ACTION_RATE ||
           action == ACTION_RATE_UP || action == ACTION_RATE_DOWN || action == ACTION_RESUME;
}

static size_t index_of(const struct app *app, const struct run_entry *entry)
{
    size_t index = 0;
    while (index < app_run_count(app) && app_run_at(app, index) != entry)
        index++;
    return index;
}

static void act(struct app *app, enum action action)
{
    const struct run_entry *entry = app_entry(app);
    const bool laboratory = views_shown(app, entry) == &view_loss && action == ACTION_FINDING;
    if (is_about_curves(action) && views_shown(app, entry) != &view_curves && !laboratory)
        views_go(app, entry, 1);
    const struct view *view = views_shown(app, entry);
    if (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_LAST) {
        views_go(app, entry, action - ACTION_VIEW_1 + 1);
        return;
    }
    if (view->act && view->act(app, action))
        return;
    if (is_command(action) && others_reject_command(app, entry))
        return;
    switch (action) {
    case ACTION_PAUSE:
        pause_or_go_on(app);
        break;
    case ACTION_STOP:
        if (!others_ask_stop(app, entry))
            ask_stop(app);
        break;
    case ACTION_RESUME:
        run_actions_resume(app, index_of(app, entry));
        break;
    case ACTION_FORK:
        ask_fork(app, index_of(app, entry));
        break;
    case ACTION_VIEW:
        views_next(app, entry);
        break;
    case ACTION_QUANTITY:
        next_picture(app);
        break;
    case ACTION_RATE:
    case ACTION_RATE_UP:
    case ACTION_RATE_DOWN:
        ask_rate(app, action == ACTION_RATE ? 1 : action == ACTION_RATE_UP ? 2 : 0.5);
        break;
    case ACTION_SAVE:
        send(app, COMMAND_SAVE, _("A checkpoint is being written."));
        break;
    case ACTION_NEXT:
        switch_run(app, 1);
        break;
    case ACTION_PREVIOUS:
        switch_run(app, app->shared.runs.count - 1);
        break;
    case ACTION_FORM:
    case ACTION_COMPARE:
    case ACTION_EXPORT:
    case ACTION_TRY:
        app_go(app, action == ACTION_TRY ? SCREEN_TRY : app_destination(action));
        break;
    default:
        plot_act(app, &run_model(app)->window, action);
        break;
    }
}

/* --- what can be done --- */

/* Returns whether an action on the curves has a purpose. */
static bool offers_on_curves(const struct app *app, const struct run_entry *entry,
                             enum action action)
{
    const struct plot_window *window = &run_model(app)->window;
    if (!entry || !entry->run || entry->snapshot.iteration == 0)
        return false;
    switch (action) {
    case ACTION_BEST:
        return entry->snapshot.validation.known;
    case ACTION_FINDING:
        return entry->snapshot.finding_count > 0 || views_shown(app, entry) == &view_loss;
    case ACTION_ZOOM_OUT:
    case ACTION_ZOOM_ALL:
    case ACTION_PAN_LEFT:
    case ACTION_PAN_RIGHT:
        return window->zoomed;
    default:
        return true;
    }
}

/* Comparison and export have their place among the first hints once the run is over or only
 * watched; before, they are offered as on every screen. */
static bool is_settled(const struct run_entry *entry)
{
    return entry->live || (entry->run && run_status_is_over(entry->snapshot.status));
}

static bool offers(const struct app *app, enum action action)
{
    const struct run_entry *entry = app_entry(app);
    if (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_LAST)
        return views_are_offered(entry, action - ACTION_VIEW_1 + 1);
    switch (action) {
    case ACTION_QUANTITY:
    case ACTION_SCALE:
    case ACTION_X:
        return offers_on_curves(app, entry, action);
    case ACTION_VIEW:
        return entry && entry->run;
    case ACTION_NEXT:
    case ACTION_PREVIOUS:
        return app->shared.runs.count + app->shared.shown_is_saved > 1;
    case ACTION_COMPARE:
    case ACTION_EXPORT:
        return entry && is_settled(entry) && run_offers_action(entry, action);
    default:
        return is_about_curves(action) ? offers_on_curves(app, entry, action)
                                       : run_offers_action(entry, action);
    }
}

/* Returns whether table and details of the view are both shown, so that Enter has nothing to open.
 */
static bool shows_details(const struct run_model *model, const struct view *view)
{
    return (view == &view_layers && model->layers.both) ||
           (view == &view_gemm && model->gemm.both) ||
           (view == &view_weights && model->weights.both) ||
           (view == &view_ranks && model->rank_table.both);
}

static const char *refuses(const struct app *app, enum action action)
{
    const struct run_entry *entry = app_entry(app);
    const struct view *view = views_shown(app, entry);
    if (action == ACTION_TRY && entry && !run_offers_action(entry, action))
        return run_entry_is_active(entry)
                   ? _("This run has saved no weights yet: w writes a checkpoint.")
                   : _("This run has saved no weights that could be tried.");
    if (action < ACTION_UP || action > ACTION_OPEN)
        return NULL;
    if (view->inspects && run_model(app)->insight.absent)
        return _("Nothing was measured that could be selected.");
    if (action == ACTION_OPEN && shows_details(run_model(app), view))
        return _("The details of the selected row are shown already.");
    if (view == &view_findings && entry && entry->snapshot.finding_count < 2)
        return _("There is no other finding.");
    if (view->moves & VIEW_MOVE(action))
        return NULL;
    return view == &view_curves ? _("The curves have no rows: i reads them with a cursor.")
                                : _("This key does nothing in this view; ? lists those that do.");
}

static const char *hint(const struct app *app, enum action action)
{
    const struct run_entry *entry = app_entry(app);
    if (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_LAST)
        return views_name(action - ACTION_VIEW_1 + 1);
    return action == ACTION_PAUSE && entry && entry->pause_asked ? _("go on") : NULL;
}

static bool reachable(const struct app *app)
{
    return app->shared.runs.count > 0;
}

/* --- the title --- */

/* Writes a data set for the title: without options, and a long path as "folder:.../tench". */
static void shorten_data(const char *spec, char *text, size_t size)
{
    int length = (int)spec_head_length(spec), kind = (int)strcspn(spec, ":/,");
    const char *last = portable_find_last(spec, '/', (size_t)length);
    if (!last || length <= 24)
        snprintf(text, size, "%.*s", length, spec);
    else
        snprintf(text, size, "%.*s%s%.*s", kind, spec, spec[kind] == ':' ? ":..." : "...",
                 (int)(spec + length - last), last);
}

static void title(const struct app *app, char *text, size_t size)
{
    const struct run_entry *entry = app_entry(app);
    char technique[16], data[128], number[48] = "", batch[24] = "?", network[64], spec[512];
    char fork[64] = "";
    const char *dot = app->canvas.glyphs->dot;
    if (!entry) {
        snprintf(text, size, _("Run"));
        return;
    }
    config_get(&entry->config, KEY(technique), technique, sizeof technique);
    bool plain = strcmp(technique, "none") == 0;
    const bool forked = entry->run && run_facts(entry->run)->fork.ancestor[0];
    if (entry->run && run_facts(entry->run)->imported[0])
        snprintf(number, sizeof number, _(" (imported: %s)"), run_facts(entry->run)->imported);
    else if (entry->live)
        snprintf(number, sizeof number, " %s", _("(attached)"));
    else if (app->shared.shown_is_saved && !forked)
        snprintf(number, sizeof number, " %s", _("(earlier)"));
    else if (app->shared.runs.count > 1)
        snprintf(number, sizeof number, _(" %zu of %zu"), app->shared.shown + 1,
                 app->shared.runs.count);
    shorten_data(
        config_short_value(KEY(data), data_settings(&entry->config).data, spec, sizeof spec), data,
        sizeof data);
    config_network_name(network_settings(&entry->config).network, network, sizeof network);
    if (forked)
        snprintf(fork, sizeof fork, _(" %s fork of %.28s"), dot,
                 run_facts(entry->run)->fork.ancestor);
    if (training_settings(&entry->config).batch)
        snprintf(batch, sizeof batch, "%zu", training_settings(&entry->config).batch);
    if (entry->run &&
        !config_is_known(&entry->config, run_facts(entry->run)->imported, KEY(network))) {
        snprintf(text, size, _("Run%s %s %s"), number, dot,
                 entry->name[0] ? entry->name : run_facts(entry->run)->id);
        return;
    }
    snprintf(text, size, _("Run%s %s %.40s%s%s %s %.60s %s batch %s %s %s%s"), number, dot, network,
             plain ? "" : "-", plain ? "" : technique, dot, data, dot, batch, dot,
             machine_settings(&entry->config).device, fork);
}

static void go(struct app *app)
{
    if (app->shared.runs.count > 0)
        app_show_run(app, app->shared.runs.count - 1);
    else
        app_say(app, ROLE_WARNING,
                _("No run was started in this session; r on the form starts one."));
}

static void open(struct app *app)
{
    run_model_reset(run_model(app));
}

static void close(struct app *app)
{
    run_model_free(run_model(app));
}

/* Requests the inspection that the view in front shows from the run's worker. */
static bool work(struct app *app)
{
    struct run_entry *entry = app_run_in_front(app);
    if (entry && entry->run && views_shown(app, entry)->inspects)
        insight_request(&run_model(app)->insight, entry);
    return false;
}

static double busy(const struct app *app)
{
    const bool reading =
        app_is_in_front(app, SCREEN_RUN) && sample_model_busy(&run_model(app)->sample);
    return reading ? POLL_SECONDS : INFINITY;
}

static void notice(struct app *app, enum screen_event event, struct run_entry *entry)
{
    struct run_model *model = run_model(app);
    const struct axes *axes = &app->shared.axes;
    const struct run_entry *shown = app_entry(app);
    if (event == EVENT_RUN_REMOVED) {
        model->curves.series = NULL;
        curve_marks_invalidate(&model->changes);
        app_leave(app, SCREEN_RUN);
    } else if (event == EVENT_RUN_REPLACED && entry == shown) {
        curves_invalidate(&model->curves);
        curve_marks_invalidate(&model->changes);
    } else if (event == EVENT_X_AXIS && shown && shown->run)
        run_model_change_axis(model, run_series(shown->run), axes->previous_x, axes->x);
}

/* The list of curves takes all keys while it is open. */
static const struct key_table *list_keys(const struct app *app)
{
    static const struct key_binding curves[] = {
        {' ', 0, ACTION_NONE, N_("space"), N_("toggle"), NULL},
        {UI_DOWN, 0, ACTION_NONE, N_("Down"), N_("next"), NULL},
        {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("close"), NULL},
    };
    static const struct key_table keys = {NULL, curves, sizeof curves / sizeof *curves};
    const struct run_entry *entry = app_entry(app);
    const bool drawn = views_shown(app, entry) == &view_curves && entry && entry->run;
    return drawn && run_model(app)->choice.open ? &keys : NULL;
}

const struct screen run_screen = {
    .name = N_("Run"),
    .letter = 'r',
    .purpose = N_("the latest run: curves, memory, findings"),
    .keys = &table,
    .state_size = sizeof(struct run_model),
    .go = go,
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .take_mouse = take_mouse,
    .list_keys = list_keys,
    .offers = offers,
    .refuses = refuses,
    .hint = hint,
    .reachable = reachable,
    .act = act,
    .draw = run_view_draw,
    .run = app_entry,
    .work = work,
    .busy = busy,
    .notice = notice,
};
