/* The run: one of its views (views.h), with the figures that matter beside or below. A finished
 * run looks as it did at its last moment. */
#include "session/config/config_paths.h"
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/screens/run/run_plot.h"
#include "ui/screens/run/run_text.h"
#include "ui/screens/runs/runs_actions.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {' ', 0, ACTION_PAUSE, N_("space"), N_("pause"), N_("pause the run, and go on")},
    {'s', 0, ACTION_STOP, "s", N_("stop"),
     N_("stop the run: asks whether now or after this epoch")},
    {'v', 0, ACTION_VIEW, "v", N_("view"),
     N_("the next view: curves, findings, memory, the plan's arena, layers, matrix products, "
        "weights, Caffe's mean; of networks that make pictures a sample")},
    {'1', 0, ACTION_VIEW_1, "1 .. 9", NULL, N_("one of these views: its digit stands at its tab")},
    {'2', 0, ACTION_VIEW_1 + 1, "2", NULL, NULL},
    {'3', 0, ACTION_VIEW_1 + 2, "3", NULL, NULL},
    {'4', 0, ACTION_VIEW_1 + 3, "4", NULL, NULL},
    {'5', 0, ACTION_VIEW_1 + 4, "5", NULL, NULL},
    {'6', 0, ACTION_VIEW_1 + 5, "6", NULL, NULL},
    {'7', 0, ACTION_VIEW_1 + 6, "7", NULL, NULL},
    {'8', 0, ACTION_VIEW_1 + 7, "8", NULL, NULL},
    {'9', 0, ACTION_VIEW_9, "9", NULL, NULL},
    {'y', 0, ACTION_QUANTITY, "y", N_("picture"),
     N_("what the curves show: losses, accuracy, Caffe's mean, ms/image")},
    {'Y', 0, ACTION_TRACES, "Y", N_("curves"), N_("switch each curve on and off")},
    {'i', 0, ACTION_CURSOR, "i", N_("inspect"),
     N_("a cursor that reads the values of all curves, moved by Left, Right, PgUp, PgDn, Home and "
        "End; i again or Esc puts it away")},
    {'b', 0, ACTION_BEST, "b", NULL, N_("the cursor to the best epoch")},
    {'f', 0, ACTION_FINDING, "f", NULL,
     N_("the cursor to the next finding; in the loss lab where Caffe's mean falls below zero")},
    {'z', 0, ACTION_ZOOM_IN, "z", N_("zoom"),
     N_("look closer: at the cursor, else at the newest points, which stay in sight")},
    {'Z', 0, ACTION_ZOOM_OUT, "Z", NULL, N_("look from farther away")},
    {'0', 0, ACTION_ZOOM_ALL, "0", NULL, N_("the whole run again")},
    {'<', 0, ACTION_PAN_LEFT, "<", NULL, N_("what lies to the left of a zoomed plot")},
    {'>', 0, ACTION_PAN_RIGHT, ">", NULL, N_("what lies to the right of it")},
    {'l', 0, ACTION_SCALE, "l", N_("log"), N_("axis scales: linear, log x, log y, log both")},
    {'x', 0, ACTION_X, "x", N_("axis"), N_("what runs along the x axis: iteration, epoch, time")},
    {'g', 0, ACTION_SYMBOLS, "g", N_("symbols"), N_("graph symbols: braille, block, ASCII")},
    {'L', 0, ACTION_RATE, "L", N_("rate"), N_("change the learning rate")},
    {'+', '=', ACTION_RATE_UP, "+", NULL, N_("propose twice the learning rate")},
    {'-', 0, ACTION_RATE_DOWN, "-", NULL, N_("propose half the learning rate")},
    {'w', 0, ACTION_SAVE, "w", NULL, N_("write a checkpoint now")},
    {'r', 0, ACTION_RESUME, "r", NULL,
     N_("go on with a run that was interrupted or stopped, from its last checkpoint")},
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

/* --- deciding --- */

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
             paused ? _("It goes on.") : _("Paused after this iteration; space goes on.")))
        entry->pause_asked = !paused;
}

static void next_picture(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    if (entry && entry->run)
        app_say(app, ROLE_STRONG, _("Curves: %s."),
                trace_choice_next(&app->run.choice, run_series(entry->run)));
}

/* Keys that ask for something of the curves bring them up. */
static bool is_about_curves(enum action action)
{
    static const enum action actions[] = {ACTION_TRACES,   ACTION_CURSOR,   ACTION_BEST,
                                          ACTION_FINDING,  ACTION_ZOOM_IN,  ACTION_ZOOM_OUT,
                                          ACTION_ZOOM_ALL, ACTION_PAN_LEFT, ACTION_PAN_RIGHT};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (actions[i] == action)
            return true;
    return false;
}

static void switch_run(struct app *app, size_t step)
{
    bool earlier = app->run.kept;
    if (app->runs.count < 2 - (size_t)earlier) {
        app_say(app, ROLE_WARNING, "There is no other run of this session; n sets one up.");
        return;
    }
    app_show_run(app, earlier ? 0 : (app->run.entry + app->runs.count + step) % app->runs.count);
}

static bool take_key(struct app *app, int key)
{
    const struct run_entry *entry = app_entry(app);
    if (views_shown(app, entry) != &view_curves || !entry || !entry->run)
        return false;
    if (!app->run.choice.open)
        return plot_leave_cursor(&app->run.window, key);
    trace_list_key(&app->run.choice, run_series(entry->run), key);
    return true;
}

/* Keys that change the run. */
static bool is_command(enum action action)
{
    return action == ACTION_PAUSE || action == ACTION_SAVE || action == ACTION_RATE ||
           action == ACTION_RATE_UP || action == ACTION_RATE_DOWN || action == ACTION_RESUME;
}

static void resume(struct app *app, const struct run_entry *entry)
{
    size_t index = 0;
    while (index < app_run_count(app) && app_run_at(app, index) != entry)
        index++;
    shelf_resume(app, index);
}

static void act(struct app *app, enum action action)
{
    const struct run_entry *entry = app_entry(app);
    const bool laboratory = views_shown(app, entry) == &view_loss && action == ACTION_FINDING;
    if (is_about_curves(action) && views_shown(app, entry) != &view_curves && !laboratory)
        views_go(app, entry, 1);
    const struct view *view = views_shown(app, entry);
    if (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_9) {
        views_go(app, entry, action - ACTION_VIEW_1 + 1);
        return;
    }
    if (view->act && view->act(app, action))
        return;
    if (is_command(action) && others_refuse(app, entry))
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
        resume(app, entry);
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
        switch_run(app, app->runs.count - 1);
        break;
    case ACTION_FORM:
        app_show(app, &screen_form);
        break;
    default:
        plot_act(app, action);
        break;
    }
}

/* --- drawing --- */

static struct run_news news_of(struct app *app, const struct run_entry *entry)
{
    struct run_view *view = &app->run;
    struct run_news news = {.config = &entry->config, .now = entry->snapshot, .smoothed = NAN};
    if (entry->run && entry->snapshot.status != RUN_PREPARING)
        news.facts = run_facts(entry->run);
    if (entry->run && view->curves.series == run_series(entry->run))
        news.smoothed = curves_newest(&view->curves, TRACE_SMOOTHED);
    if (view->calm_since == 0 || clock_seconds(view->calm_since, clock_nanoseconds()) >= 1 ||
        view->calm.status != entry->snapshot.status) {
        view->calm = entry->snapshot;
        view->calm_since = clock_nanoseconds();
    }
    news.calm = view->calm;
    return news;
}

/* Columns of RUN_GRID_ROWS lines. The wide grid has three: the middle one holds the longest
 * figures, the last one the shortest. */
static void draw_grid(struct app *app, struct rect area, const struct run_line *lines, size_t count)
{
    static const int starts[] = {1, 31, 61}, labels[] = {11, 14, 10};
    bool wide = count > 2 * RUN_GRID_ROWS;
    for (size_t i = 0; i < count; i++) {
        int cell = (int)(i / RUN_GRID_ROWS), row = (int)(i % RUN_GRID_ROWS);
        int start = wide ? starts[cell] * area.columns / 80 : cell * area.columns / 2;
        int end = wide && cell < 2 ? starts[cell + 1] * area.columns / 80 - 1
                  : wide           ? area.columns
                                   : (cell + 1) * area.columns / 2 - 1;
        struct rect box = {area.row, area.column + start, area.rows, end - start};
        draw_text(&app->canvas, box, row, 0, ROLE_FAINT, lines[i].label);
        draw_text(&app->canvas, box, row, wide ? labels[cell] : 10, lines[i].role, lines[i].value);
    }
}

static void draw_flow(struct app *app, struct rect area, const struct run_line *lines, size_t count)
{
    int row = 0, column = 0;
    for (size_t i = 0; i < count; i++) {
        int width = (int)(columns_of(lines[i].label) + 1 + columns_of(lines[i].value));
        if (column > 0 && column + width > area.columns) {
            row++;
            column = 0;
        }
        column = draw_text(&app->canvas, area, row, column, ROLE_FAINT, lines[i].label) + 1;
        column = draw_text(&app->canvas, area, row, column, lines[i].role, lines[i].value) + 2;
    }
}

static void draw_panel(struct app *app, struct rect area, const struct run_line *lines,
                       size_t count)
{
    int headings = 0, row = 0;
    for (size_t i = 0; i < count; i++)
        headings += !lines[i].value[0] && lines[i].role == ROLE_HEADING;
    bool airy = (int)count + headings <= area.rows;
    for (size_t i = 0; i < count; i++, row++) {
        bool heading = lines[i].role == ROLE_HEADING;
        if (heading && airy && row > 0)
            row++;
        draw_text(&app->canvas, area, row, heading ? 0 : 1, heading ? ROLE_HEADING : ROLE_FAINT,
                  lines[i].label);
        draw_text(&app->canvas, area, row, 15, lines[i].role, lines[i].value);
    }
}

static void draw_facts(struct app *app, const struct run_layout *layout,
                       const struct run_news *news)
{
    struct run_line lines[RUN_LINES_MAX];
    size_t count = run_text_lines(news, layout->density, lines);
    if (layout->density == DENSITY_PANEL)
        draw_panel(app, layout->facts, lines, count);
    else if (layout->density == DENSITY_TINY)
        draw_flow(app, layout->facts, lines, count);
    else
        draw_grid(app, layout->facts, lines, count);
}

static void draw_progress(struct app *app, struct rect area, const struct run_news *news)
{
    char text[96];
    if (rect_is_empty(area))
        return;
    run_text_progress(news, area.columns, text, sizeof text);
    int width = area.columns - (int)columns_of(text) - 3;
    if (width > 8)
        draw_gauge(&app->canvas, area, 0, 1, width, run_text_fraction(&news->now), ROLE_GAUGE);
    draw_right(&app->canvas, area, 0, ROLE_TEXT, text);
}

static void draw_failure(struct app *app, struct rect area, const struct error *error)
{
    char text[1100];
    struct rect inside = {area.row + 1, area.column + 2, area.rows - 1, area.columns - 4};
    int row = draw_wrapped(&app->canvas, inside, 0, ROLE_BAD, _("! This run could not go on."));
    snprintf(text, sizeof text, "%s: %s", error->what, error->why);
    row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, text);
    if (error->advice[0])
        row = draw_wrapped(&app->canvas, inside, row + 1, ROLE_STRONG, error->advice);
    draw_wrapped(&app->canvas, inside, row + 1, ROLE_FAINT, _("n goes to the form to change it."));
}

static void draw_view(struct app *app, struct run_entry *entry, const struct view *view,
                      const struct run_layout *layout, const struct run_news *news)
{
    const struct run_snapshot *now = &entry->snapshot;
    const char *waiting = !entry->run ? _("It waits for the run before it to end.")
                          : now->status == RUN_PREPARING
                              ? _("Opening the data and drawing the weights ...")
                              : NULL;
    if (rect_is_empty(layout->view))
        return;
    if (entry->refused)
        draw_failure(app, layout->view, &entry->error);
    else if (waiting)
        draw_text(&app->canvas, layout->view, 1, 2, ROLE_FAINT, waiting);
    else if ((now->status == RUN_FAILED || now->status == RUN_REFUSED) && now->iteration == 0)
        draw_failure(app, layout->view, &now->error);
    else
        view->draw(app, entry, layout, news);
}

enum { FINDING_COLUMNS = 50 };

/* The newest finding, in the line of the tabs. */
static void draw_finding(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct finding finding;
    if (!entry->run || entry->snapshot.finding_count == 0 || rect_is_empty(area))
        return;
    run_finding(entry->run, entry->snapshot.finding_count - 1, &finding);
    const char *kind = finding_kind_words(finding.kind);
    char text[160];
    if (isnan(finding.epoch))
        snprintf(text, sizeof text, _("! %s from iteration %llu"), kind,
                 (unsigned long long)finding.iteration);
    else
        snprintf(text, sizeof text, _("! %s from epoch %.2f (iteration %llu)"), kind, finding.epoch,
                 (unsigned long long)finding.iteration);
    if ((int)columns_of(text) <= area.columns)
        draw_text(&app->canvas, area, 0, 0, ROLE_BAD, text);
    else
        draw_format(&app->canvas, area, 0, 0, ROLE_BAD, "! %s", kind);
}

/* A finding goes before the names of the views. */
static void draw_tab_line(struct app *app, const struct run_entry *entry, struct rect area)
{
    const bool finding = entry->run && entry->snapshot.finding_count > 0;
    if (rect_is_empty(area))
        return;
    int end = views_draw_tabs(app, entry, area, area.columns - (finding ? FINDING_COLUMNS : 0)) + 1;
    struct rect rest = {area.row, area.column + end, 1, area.columns - end};
    draw_finding(app, entry, rest);
}

/* Where there is little room a view that needs it takes the figures' lines, and all but the curves
 * those of the learning rate's strip. */
static void give_room(struct run_layout *layout, const struct view *view)
{
    if (view == &view_curves)
        return;
    if (!rect_is_empty(layout->rate))
        layout->view.rows = layout->rate.row + layout->rate.rows - layout->view.row;
    layout->rate.rows = 0;
    if (view->spreads && layout->density < DENSITY_NORMAL) {
        layout->view.rows += layout->facts.rows;
        layout->facts.rows = 0;
    }
}

static void draw(struct app *app, struct rect body)
{
    enum { LEAST_ROWS = 6 };
    struct run_entry *entry = app_entry(app);
    struct rect line = {body.row, body.column, body.rows >= LEAST_ROWS, body.columns};
    if (entry && others_draw(app, entry, line)) {
        body.row++;
        body.rows--;
    }
    struct run_layout layout = layout_run(body);
    if (!entry) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    if (entry->run)
        run_plot_gather(app, entry, &layout);
    const struct view *view = views_shown(app, entry);
    give_room(&layout, view);
    struct run_news news = news_of(app, entry);
    draw_view(app, entry, view, &layout, &news);
    if (!rect_is_empty(layout.facts))
        draw_facts(app, &layout, &news);
    draw_progress(app, layout.progress, &news);
    draw_tab_line(app, entry, layout.tabs);
    if (app->run.choice.open && view == &view_curves && entry->run)
        trace_list_draw(app, entry, body);
}

/* A data set as a title has room for it: "folder:.../tench" for a long path, without options. */
static void shorten_data(const char *spec, char *text, size_t size)
{
    int length = (int)strcspn(spec, ","), kind = (int)strcspn(spec, ":/,");
    const char *last = memrchr(spec, '/', (size_t)length);
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
    const char *dot = app->canvas.glyphs->dot;
    if (!entry) {
        snprintf(text, size, _("Run"));
        return;
    }
    config_get(&entry->config, "technique", technique, sizeof technique);
    bool plain = strcmp(technique, "none") == 0;
    if (entry->run && run_facts(entry->run)->imported[0])
        snprintf(number, sizeof number, _(" (imported: %s)"), run_facts(entry->run)->imported);
    else if (entry->live)
        snprintf(number, sizeof number, " %s", _("(attached)"));
    else if (app->run.kept)
        snprintf(number, sizeof number, " %s", _("(earlier)"));
    else if (app->runs.count > 1)
        snprintf(number, sizeof number, _(" %zu of %zu"), app->run.entry + 1, app->runs.count);
    shorten_data(config_short_value("data", entry->config.data, spec, sizeof spec), data,
                 sizeof data);
    config_short_value("network", entry->config.network, network, sizeof network);
    if (entry->config.batch)
        snprintf(batch, sizeof batch, "%zu", entry->config.batch);
    snprintf(text, size, _("Run%s %s %.40s%s%s %s %.60s %s batch %s %s %s"), number, dot, network,
             plain ? "" : "-", plain ? "" : technique, dot, data, dot, batch, dot,
             entry->config.device);
}

/* Nothing slow: the run is asked for what the view in sight needs. */
static bool work(struct app *app)
{
    struct run_entry *entry = app_entry(app);
    if (entry && entry->run && views_shown(app, entry)->looks)
        insight_ask(&app->run.insight, entry);
    return false;
}

const struct screen screen_run = {N_("Run"), &table, title, take_key, act, draw, work};
