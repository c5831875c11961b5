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
#include "ui/app/run_actions.h"
#include "ui/screens/run/internal.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    if (others_reject_command(app, entry))
        return;
    const bool paused = entry && entry->pause_asked;
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

/* Opens the dialog with the present learning rate times 2 to the power of `doublings` as the
 * proposal. */
static void ask_rate(struct app *app, int doublings)
{
    const struct run_entry *entry = questions_target_run(app);
    if (others_reject_command(app, app_entry(app)))
        return;
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
    set_rate(dialog, ldexp(entry->snapshot.learning_rate, doublings));
}

/* --- actions --- */

static size_t index_of(const struct app *app, const struct run_entry *entry)
{
    size_t index = 0;
    while (index < app_run_count(app) && app_run_at(app, index) != entry)
        index++;
    return index;
}

static void stop(struct app *app)
{
    if (!others_ask_stop(app, app_entry(app)))
        ask_stop(app);
}

static void resume(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    if (!others_reject_command(app, entry))
        run_actions_resume(app, index_of(app, entry));
}

static void fork_run(struct app *app)
{
    ask_fork(app, index_of(app, app_entry(app)));
}

static void save(struct app *app)
{
    if (!others_reject_command(app, app_entry(app)))
        send(app, COMMAND_SAVE, _("A checkpoint is being written."));
}

static void next_view(struct app *app)
{
    views_next(app, app_entry(app));
}

static void go_to_view(struct app *app, int digit)
{
    views_go(app, app_entry(app), (size_t)digit);
}

static void switch_run(struct app *app, int steps)
{
    const bool earlier = app->shared.shown_is_saved;
    const size_t count = app->shared.runs.count;
    if (count < 2 - (size_t)earlier)
        app_say(app, ROLE_WARNING, "There is no other run of this session; n sets one up.");
    else
        app_show_run(app, earlier ? 0 : (app->shared.shown + count + (size_t)steps) % count);
}

/* Moves in the view in front. */
static void move(struct app *app, int how)
{
    const struct run_entry *entry = app_entry(app);
    const struct view *view = views_shown(app, entry);
    if (view->table)
        listing_move(views_table(app, view), how);
    else
        view->move(app, entry, how);
}

static void open_details(struct app *app)
{
    struct listing_view *table = views_table(app, views_shown(app, app_entry(app)));
    table->details = !table->details;
}

/* Brings the view of the curves to the front. Returns the run that it shows, or NULL. */
static const struct run_entry *show_curves(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    if (views_shown(app, entry) != &view_curves)
        views_go(app, entry, 1);
    return entry && entry->run ? entry : NULL;
}

static void choose_traces(struct app *app)
{
    struct run_model *model = run_model(app);
    const struct run_entry *entry = show_curves(app);
    if (entry)
        trace_list_open(&model->choice, run_series(entry->run), model->curves.view.traces);
}

static void change_plot(struct app *app, int change)
{
    show_curves(app);
    plot_change(app, &run_model(app)->window, (enum plot_change)change);
}

static void go_to_best(struct app *app)
{
    const struct run_entry *entry = show_curves(app);
    if (entry)
        run_plot_to_best(app, entry);
}

/* The loss lab has findings of its own: where Caffe's mean falls below zero. */
static void go_to_finding(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    if (views_shown(app, entry) == &view_loss && entry && entry->run)
        loss_view_to_negative(app, entry);
    else if (show_curves(app))
        run_plot_to_finding(app, entry);
}

static void go_to_mark(struct app *app)
{
    if (show_curves(app))
        run_plot_to_mark(app);
}

/* --- what can be done --- */

static const char *refuses_run(const struct app *app, int offer)
{
    return run_offers(app_entry(app), (enum run_offer)offer) ? NULL : ACTION_EXPLAINS;
}

static const char *refuses_rate(const struct app *app, int doublings)
{
    (void)doublings;
    return refuses_run(app, RUN_CONTROL);
}

static const char *refuses_try(const struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    if (run_offers(entry, RUN_WEIGHTS))
        return NULL;
    return !entry                       ? ACTION_EXPLAINS
           : run_entry_is_active(entry) ? _("This run has saved no weights yet: w writes a "
                                            "checkpoint.")
                                        : _("This run has saved no weights that could be tried.");
}

/* Comparison and export have their place among the first hints once the run is over or only
 * watched; before, they are offered as on every screen. */
static const char *refuses_settled(const struct app *app, int screen)
{
    const struct run_entry *entry = app_entry(app);
    const bool settled =
        entry && (entry->live || (entry->run && run_status_is_over(entry->snapshot.status)));
    return settled && run_offers(entry, screen == SCREEN_COMPARE ? RUN_COMPARE : RUN_EXPORT)
               ? NULL
               : ACTION_EXPLAINS;
}

static const char *refuses_view(const struct app *app)
{
    return app_entry(app) && app_entry(app)->run ? NULL : ACTION_EXPLAINS;
}

static const char *refuses_views(const struct app *app, int digit)
{
    return views_are_offered(app_entry(app), (size_t)digit) ? NULL : ACTION_EXPLAINS;
}

static const char *view_word(const struct app *app, int digit)
{
    (void)app;
    return views_name((size_t)digit);
}

static const char *pause_word(const struct app *app)
{
    return app_entry(app) && app_entry(app)->pause_asked ? _("go on") : NULL;
}

static const char *refuses_switch(const struct app *app, int steps)
{
    (void)steps;
    return app->shared.runs.count + app->shared.shown_is_saved > 1 ? NULL : ACTION_EXPLAINS;
}

/* Returns ACTION_EXPLAINS where there are no curves. */
static const char *refuses_curves(const struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    return entry && entry->run && entry->snapshot.iteration > 0 ? NULL : ACTION_EXPLAINS;
}

static const char *refuses_best(const struct app *app)
{
    const char *why = refuses_curves(app);
    return why || app_entry(app)->snapshot.validation.known ? why : ACTION_EXPLAINS;
}

static const char *refuses_finding(const struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    const char *why = refuses_curves(app);
    return why || entry->snapshot.finding_count > 0 || views_shown(app, entry) == &view_loss
               ? why
               : ACTION_EXPLAINS;
}

static const char *refuses_plot(const struct app *app, int change)
{
    const char *why = refuses_curves(app);
    return why || change <= PLOT_ZOOM_IN || run_model(app)->window.zoomed ? why : ACTION_EXPLAINS;
}

/* Returns why the view in front has nothing to move in, or NULL. */
static const char *refuses_rows(const struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    const struct view *view = views_shown(app, entry);
    if (view->inspects && run_model(app)->insight.absent)
        return _("Nothing was measured that could be selected.");
    return view == &view_findings && entry && entry->snapshot.finding_count < 2
               ? _("There is no other finding.")
               : NULL;
}

static const char *no_rows(const struct view *view)
{
    return view == &view_curves ? _("The curves have no rows: i reads them with a cursor.")
                                : _("This key does nothing in this view; ? lists those that do.");
}

static const char *refuses_move(const struct app *app, int how)
{
    const struct view *view = views_shown(app, app_entry(app));
    const char *why = refuses_rows(app);
    return why || view->moves & VIEW_MOVE(how) ? why : no_rows(view);
}

static const char *refuses_details(const struct app *app)
{
    const struct view *view = views_shown(app, app_entry(app));
    const struct listing_view *table = views_table(app, view);
    const char *why = refuses_rows(app);
    if (why || !table)
        return why ? why : no_rows(view);
    return table->both ? _("The details of the selected row are shown already.") : NULL;
}

static const struct action actions[] = {
    {"space", "pause", N_("pause"), N_("pause the run, and go on"), .run = pause_or_go_on,
     .refused_with = refuses_run, .argument = RUN_CONTROL, .word = pause_word},
    {"s", "stop", N_("stop"), N_("stop the run: asks whether now or after this epoch"), .run = stop,
     .refused_with = refuses_run, .argument = RUN_STOP},
    {"r", "resume", N_("resume"),
     N_("go on with a run that was interrupted or stopped, from its last checkpoint"),
     .run = resume, .refused_with = refuses_run, .argument = RUN_RESUME},
    {"t", "try", N_("try"), N_("try the weights that the run has saved"), .run_with = action_go,
     .refused = refuses_try, .argument = SCREEN_TRY},
    {"F", "fork", N_("fork"),
     N_("a new run from a checkpoint of this one, with other settings: asks for the checkpoint"),
     .run = fork_run, .refused_with = refuses_run, .argument = RUN_WEIGHTS},
    {"c", "compare", N_("compare"),
     N_("compare this run with the marked ones, or with all that are finished"), action_go,
     refuses_settled, .argument = SCREEN_COMPARE},
    {"e", "export", N_("export"),
     N_("export this run, the session or the marked runs: JSON, CSV, picture, report; asks"),
     action_go, refuses_settled, .argument = SCREEN_EXPORT},
    {"v", "view", N_("view"),
     N_("the next view: curves, findings, memory, the plan's arena, layers, matrix products, "
        "weights, Caffe's mean; of networks that make pictures a sample, of several processes "
        "ranks"),
     .run = next_view, .refused = refuses_view},
    {"1 .. 9", "curves", NULL, N_("one of these views: its digit stands at its tab"), go_to_view,
     refuses_views, view_word, .argument = 1},
    {"2", "findings", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 2},
    {"3", "memory", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 3},
    {"4", "arena", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 4},
    {"5", "layers", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 5},
    {"6", "products", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 6},
    {"7", "weights", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 7},
    {"8", "sample", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 8},
    {"9", "loss-lab", NULL, NULL, go_to_view, refuses_views, view_word, .argument = 9},
    {"R", "ranks", NULL,
     N_("of a run of several processes: what each rank computes, and how long it waits"),
     go_to_view, refuses_views, view_word, .argument = 10},
    {"y", "picture", N_("picture"),
     N_("what the curves show: losses, accuracy, Caffe's mean, ms/image"), .run = next_picture,
     .refused = refuses_curves},
    {"Y", "traces", N_("curves"), N_("switch each curve on and off"), .run = choose_traces,
     .refused = refuses_curves},
    {"i", "inspect", N_("inspect"),
     N_("a cursor that reads the values of all curves, moved by Left, Right, PgUp, PgDn, Home and "
        "End; i again or Esc puts it away"),
     change_plot, refuses_plot, .argument = PLOT_CURSOR},
    {"b", "best", NULL, N_("the cursor to the best epoch"), .run = go_to_best,
     .refused = refuses_best},
    {"f", "next-finding", NULL,
     N_("the cursor to the next finding; in the loss lab where Caffe's mean falls below zero"),
     .run = go_to_finding, .refused = refuses_finding},
    {"M", "next-mark", NULL,
     N_("the cursor to the next mark: a finding, the best epoch, a new learning rate (L), a resume "
        "(R), a fork (F); + stands for several in one column"),
     .run = go_to_mark, .refused = refuses_curves},
    {"z", "zoom-in", N_("zoom"),
     N_("zoom in at the cursor, else at the newest points, which stay visible"), change_plot,
     refuses_plot, .argument = PLOT_ZOOM_IN},
    {"Z", "zoom-out", NULL, N_("zoom out"), change_plot, refuses_plot, .argument = PLOT_ZOOM_OUT},
    {"0", "show-all", NULL, N_("show the whole run"), change_plot, refuses_plot,
     .argument = PLOT_SHOW_ALL},
    {"<", "pan-left", NULL, N_("scroll a zoomed plot to the left"), change_plot, refuses_plot,
     .argument = PLOT_PAN_LEFT},
    {">", "pan-right", NULL, N_("scroll it to the right"), change_plot, refuses_plot,
     .argument = PLOT_PAN_RIGHT},
    {"l", "scale", N_("log"), N_("axis scales: linear, log x, log y, log both"),
     .run = plot_next_scale, .refused = refuses_curves},
    {"S", "smoothing", N_("smoothing"),
     N_("the next strength of smoothing: as the run says, 0, 0.6, 0.9, 0.97, 0.99, 0.999"),
     .run = plot_next_smoothing},
    {"a", "outliers", NULL,
     N_("let the y axis show all values, or leave out outliers (^ and v mark them)"),
     .run = plot_toggle_range},
    {"x", "axis", N_("axis"), N_("the x axis: iteration, epoch, time"), .run = plot_next_x,
     .refused = refuses_curves},
    {"g", "symbols", N_("symbols"), N_("graph symbols: braille, block, ASCII"),
     .run = plot_next_symbols},
    {"L", "rate", N_("rate"), N_("change the learning rate"), ask_rate, refuses_rate,
     .argument = 0},
    {"+ (=)", "double-rate", NULL, N_("propose twice the learning rate"), ask_rate, refuses_rate,
     .argument = 1},
    {"-", "halve-rate", NULL, N_("propose half the learning rate"), ask_rate, refuses_rate,
     .argument = -1},
    {"w", "save", NULL, N_("write a checkpoint now"), .run = save, .refused_with = refuses_run,
     .argument = RUN_CONTROL},
    {"Tab", "next-run", NULL, N_("the next run of this session"), switch_run, refuses_switch,
     .argument = 1},
    {"S-Tab", "previous-run", NULL, N_("the run before"), switch_run, refuses_switch,
     .argument = -1},
    {"n", "new", N_("new"), N_("set up another run"), .run_with = action_go,
     .argument = SCREEN_SETUP},
    {"Up", "up", NULL,
     N_("within a view: scroll, select a row or an array, another example of the sample"), move,
     refuses_move, .argument = MOVE_UP},
    {"Down", "down", NULL, NULL, move, refuses_move, .argument = MOVE_DOWN},
    {"PgUp ,", "page-up", NULL,
     N_("a page; the cursor of the curves a tenth of the plot to the left"), move, refuses_move,
     .argument = MOVE_PAGE_UP},
    {"PgDn .", "page-down", NULL,
     N_("a page; the cursor of the curves a tenth of the plot to the right"), move, refuses_move,
     .argument = MOVE_PAGE_DOWN},
#define ACTIONS_ENDS move, refuses_move
#include "ui/app/actions.inc"
    {"Left", "left", NULL,
     N_("sort a table by the column before; in the arena the plan before, in the loss lab the "
        "iteration before"),
     move, refuses_move, .argument = MOVE_LEFT},
    {"Right", "right", NULL,
     N_("sort a table by the next column; in the arena the next plan, in the loss lab the next "
        "iteration"),
     move, refuses_move, .argument = MOVE_RIGHT},
    {"Enter", "details", NULL,
     N_("the selected row's details, where a table leaves no room for them"), .run = open_details,
     .refused = refuses_details},
};

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
static const struct actions *over(const struct app *app)
{
    static const struct action curves[] = {
        {"space", "toggle", N_("toggle"), NULL, .run = NULL},
        {"Down", "next", N_("next"), NULL, .run = NULL},
        {"Esc", "close", N_("close"), NULL, .run = NULL},
    };
    static const struct actions list = {ACTIONS(NULL, curves)};
    const struct run_entry *entry = app_entry(app);
    const bool drawn = views_shown(app, entry) == &view_curves && entry && entry->run;
    return drawn && run_model(app)->choice.open ? &list : NULL;
}

const struct screen run_screen = {
    .name = N_("Run"),
    .letter = 'r',
    .purpose = N_("the latest run: curves, memory, findings"),
    .actions = {ACTIONS(N_("Watching a run"), actions)},
    .state_size = sizeof(struct run_model),
    .go = go,
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .over = over,
    .reachable = reachable,
    .draw = run_view_draw,
    .run = app_entry,
    .work = work,
    .busy = busy,
    .notice = notice,
};
