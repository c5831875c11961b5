/* The run: its curves, findings or memory, with the figures that matter beside or below. A finished
 * run looks as it did at its last moment. */
#include "ui/app.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/language.h"
#include "base/text.h"
#include "session/sample_files.h"
#include "ui/columns.h"
#include "ui/run_plot.h"
#include "ui/run_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {' ', 0, ACTION_PAUSE, N_("space"), N_("pause"), N_("pause the run, and go on")},
    {'s', 0, ACTION_STOP, "s", N_("stop"),
     N_("stop the run: asks whether now or after this epoch")},
    {'v', 0, ACTION_VIEW, "v", N_("view"),
     N_("the next view: curves, findings, memory; of networks that make pictures a sample")},
    {'l', 0, ACTION_SCALE, "l", N_("log"), N_("axis scales: linear, log x, log y, log both")},
    {'x', 0, ACTION_X, "x", N_("axis"), N_("what runs along the x axis: iteration, epoch, time")},
    {'y', 0, ACTION_QUANTITY, "y", NULL,
     N_("what the curves show: the losses, one of them, the accuracy")},
    {'g', 0, ACTION_SYMBOLS, "g", N_("symbols"), N_("graph symbols: braille, block, ASCII")},
    {'L', 0, ACTION_RATE, "L", N_("rate"), N_("change the learning rate")},
    {'+', '=', ACTION_RATE_UP, "+", NULL, N_("propose twice the learning rate")},
    {'-', 0, ACTION_RATE_DOWN, "-", NULL, N_("propose half the learning rate")},
    {'w', 0, ACTION_SAVE, "w", NULL, N_("write a checkpoint now")},
    {UI_TAB, 0, ACTION_NEXT, "Tab", NULL, N_("the next run of this session")},
    {UI_BACK_TAB, 0, ACTION_PREVIOUS, "S-Tab", NULL, N_("the run before")},
    {'n', 0, ACTION_FORM, "n", N_("new"), N_("set up another run")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("scroll the findings; another example of the sample")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, NULL},
};
static const struct key_table table = {N_("Watching a run"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const char *const view_names[VIEWS] = {N_("Curves"), N_("Findings"), N_("Memory"),
                                              N_("Sample")};

/* --- deciding --- */

/* How many examples the run's samples show; 0: it makes no pictures, or nobody knows yet. */
static size_t examples_of(const struct run_entry *entry)
{
    if (!entry || !entry->run || entry->snapshot.status == RUN_PREPARING)
        return 0;
    return sample_examples(run_facts(entry->run));
}

static size_t view_count(const struct run_entry *entry)
{
    return examples_of(entry) > 0 ? VIEWS : VIEW_SAMPLE;
}

static void next_view(struct app *app)
{
    app->run.kind = (enum run_view_kind)((app->run.kind + 1) % view_count(app_entry(app)));
    app->run.scroll = 0;
}

static void scroll(struct app *app, int step)
{
    if (app->run.kind == VIEW_SAMPLE)
        sample_view_move(&app->run.sample, step);
    else if (step > 0 || app->run.scroll > 0)
        app->run.scroll += step;
}

static bool send(struct app *app, enum run_command command, const char *words)
{
    struct run_entry *entry = app_entry(app);
    bool on = entry && run_entry_is_on(entry), sent = on && run_send(entry->run, command, 0);
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
        app_say(app, ROLE_STRONG, "Curves: %s.", run_plot_next(app, entry));
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

static void act(struct app *app, enum action action)
{
    switch (action) {
    case ACTION_PAUSE:
        pause_or_go_on(app);
        break;
    case ACTION_STOP:
        ask_stop(app);
        break;
    case ACTION_VIEW:
        next_view(app);
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
    case ACTION_UP:
        scroll(app, -1);
        break;
    case ACTION_DOWN:
        scroll(app, 1);
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
        news.smoothed = view->curves.smoothed_value[QUANTITY_LOSS];
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

static void draw_findings(struct app *app, struct rect area, const struct run_entry *entry)
{
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    int row = 0, count = (int)entry->snapshot.finding_count;
    if (count == 0) {
        draw_wrapped(&app->canvas, inside, 1, ROLE_FAINT,
                     _("Nothing found so far. Watched for: negative loss (Caffe's running mean), "
                       "overfitting, divergence, plateaus, memory beyond the forecast."));
        return;
    }
    if (app->run.scroll > count - 1)
        app->run.scroll = count - 1;
    for (int i = app->run.scroll; i < count && row < inside.rows; i++) {
        struct finding finding;
        run_finding(entry->run, (size_t)i, &finding);
        if (i == app->run.scroll)
            draw_cursor(&app->canvas, area, row, 0);
        draw_text(&app->canvas, area, row, 0, ROLE_BAD, "!");
        draw_format(&app->canvas, inside, row++, 0, ROLE_STRONG,
                    _("%s from iteration %llu, epoch %.2f"),
                    gettext(finding_kind_words(finding.kind)),
                    (unsigned long long)finding.iteration, finding.epoch);
        row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, finding.text) + 1;
    }
}

static void draw_memory(struct app *app, struct rect area, const struct run_news *news)
{
    char text[32];
    if (!news->facts) {
        draw_text(&app->canvas, area, 1, 2, ROLE_FAINT, _("Known when the run is prepared."));
        return;
    }
    const struct memory_forecast *forecast = &news->facts->forecast;
    const struct {
        const char *label;
        uint64_t bytes;
    } rows[] = {{N_("weights"), forecast->weights},
                {N_("gradients"), forecast->gradients},
                {N_("solver state"), forecast->solver},
                {N_("activations"), forecast->activations},
                {N_("workspace"), forecast->workspace},
                {N_("forecast in all"), forecast->total},
                {N_("measured now"), news->calm.memory_measured},
                {N_("highest"), host_process_peak()}};
    uint64_t most = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        most = rows[i].bytes > most ? rows[i].bytes : most;
    draw_text(&app->canvas, area, 0, 1, ROLE_HEADING, _("Memory of this run"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int row = (int)i + 1 + (i >= 5 && area.rows >= 11) + (i >= 6 && area.rows >= 11);
        struct rect number = {area.row, area.column + 16, area.rows, 12};
        draw_text(&app->canvas, area, row, 1, ROLE_FAINT, gettext(rows[i].label));
        draw_right(&app->canvas, number, row, ROLE_TEXT,
                   rows[i].bytes ? text_bytes(rows[i].bytes, text, sizeof text) : "-");
        int width = area.columns - 32 > 60 ? 60 : area.columns - 32;
        if (width > 4)
            draw_gauge(&app->canvas, area, row, 31, width, (double)rows[i].bytes / (double)most,
                       ROLE_GAUGE);
    }
    struct rect note = {area.row, area.column + 1, area.rows, area.columns - 2};
    if (area.rows >= 14)
        draw_wrapped(
            &app->canvas, note, 12, ROLE_FAINT,
            _("Measured is what the whole program holds: the plan's arena, the images read "
              "ahead, libraries. The forecast is the arena's exact size."));
}

static void draw_view(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                      const struct run_news *news)
{
    const struct run_snapshot *now = &entry->snapshot;
    if (rect_is_empty(layout->view))
        return;
    if (app->run.kind == VIEW_FINDINGS && entry->run)
        draw_findings(app, layout->view, entry);
    else if (app->run.kind == VIEW_MEMORY)
        draw_memory(app, layout->view, news);
    else if (app->run.kind == VIEW_SAMPLE && examples_of(entry) > 0)
        sample_view_draw(&app->run.sample, &app->canvas, layout->view,
                         run_facts(entry->run)->directory, examples_of(entry));
    else if (entry->refused)
        draw_failure(app, layout->view, &entry->error);
    else if (!entry->run)
        draw_text(&app->canvas, layout->view, 1, 2, ROLE_FAINT,
                  _("It waits for the run before it to end."));
    else if ((now->status == RUN_FAILED || now->status == RUN_REFUSED) && now->iteration == 0)
        draw_failure(app, layout->view, &now->error);
    else if (now->status == RUN_PREPARING)
        draw_text(&app->canvas, layout->view, 1, 2, ROLE_FAINT,
                  _("Opening the data and drawing the weights ..."));
    else
        run_plot_draw(app, entry, layout->view, layout->rate);
}

/* The newest finding, in the line of the tabs. */
static void draw_finding(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct finding finding;
    if (!entry->run || entry->snapshot.finding_count == 0 || rect_is_empty(area))
        return;
    run_finding(entry->run, entry->snapshot.finding_count - 1, &finding);
    draw_format(&app->canvas, area, 0, 0, ROLE_BAD, _("! %s from epoch %.2f (iteration %llu)"),
                gettext(finding_kind_words(finding.kind)), finding.epoch,
                (unsigned long long)finding.iteration);
}

static void draw_tab_line(struct app *app, const struct run_entry *entry, struct rect area)
{
    size_t count = view_count(entry), shown = app->run.kind < count ? app->run.kind : VIEW_CURVES;
    int end = 0, cursor = 1;
    if (rect_is_empty(area))
        return;
    if (area.columns >= 60)
        end = draw_tabs(&app->canvas, area, view_names, count, shown) + 2;
    struct rect rest = {area.row, area.column + end, 1, area.columns - end};
    draw_finding(app, entry, rest);
    for (size_t i = 0; i < shown; i++)
        cursor += (int)columns_of(gettext(view_names[i])) + 2;
    if (app->canvas.cursor_row < 0 && end > 0)
        draw_cursor(&app->canvas, area, 0, cursor);
}

static void draw(struct app *app, struct rect body)
{
    struct run_entry *entry = app_entry(app);
    struct run_layout layout = layout_run(body);
    if (!entry) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    if (entry->run)
        run_plot_gather(app, entry, layout.view);
    if (app->run.kind == VIEW_SAMPLE && examples_of(entry) > 0 && layout.density < DENSITY_NORMAL) {
        layout.view.rows += layout.facts.rows; /* a picture of four rows shows nothing */
        layout.facts.rows = 0;
    }
    struct run_news news = news_of(app, entry);
    draw_view(app, entry, &layout, &news);
    if (!rect_is_empty(layout.facts))
        draw_facts(app, &layout, &news);
    draw_progress(app, layout.progress, &news);
    draw_tab_line(app, entry, layout.tabs);
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
    char technique[16], data[128], number[32] = "";
    const char *dot = app->canvas.glyphs->dot;
    if (!entry) {
        snprintf(text, size, _("Run"));
        return;
    }
    config_get(&entry->config, "technique", technique, sizeof technique);
    bool plain = strcmp(technique, "none") == 0;
    if (app->run.kept)
        snprintf(number, sizeof number, _(" (earlier)"));
    else if (app->runs.count > 1)
        snprintf(number, sizeof number, _(" %zu of %zu"), app->run.entry + 1, app->runs.count);
    shorten_data(entry->config.data, data, sizeof data);
    snprintf(text, size, _("Run%s %s %.40s%s%s %s %.60s %s batch %zu %s %s"), number, dot,
             entry->config.network, plain ? "" : "-", plain ? "" : technique, dot, data, dot,
             entry->config.batch, dot, entry->config.device);
}

const struct screen screen_run = {N_("Run"), &table, title, NULL, act, draw, NULL};
