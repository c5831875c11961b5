/* The screen Find rate: searches a learning rate for what the form says, in the background, and
 * draws the loss over the rate. The suggested rate is marked, Left and Right mark another one, and
 * Enter takes it into the form. Nothing is saved. */
#include "ui/app/app.h"

#include "base/axis.h"
#include "base/language.h"
#include "base/threads/background_job.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/settings.h"
#include "training/find_rate.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/plot.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double POLL_SECONDS = 0.1;
enum { RAW = 1, SMOOTHED, MARKED, SERIES };

struct find_rate_model {
    struct background_job *job; /* NULL: no search is on; it owns `search` meanwhile */
    struct rate_search search;
    struct run_config searched; /* the form's settings of the last search */
    bool begun;                 /* there was a search */
    bool asked;                 /* the key u began it: its end is reported */
    uint64_t done, of;
    struct error error; /* why there is no result; kind ERROR_NONE: there is one, or none yet */
    size_t marked;      /* the marked point */
    struct plot plot;
};

static struct find_rate_model *model_of(const struct app *app)
{
    return app_state(app, SCREEN_FIND_RATE);
}

static bool has_result(const struct find_rate_model *model)
{
    return !model->job && model->search.count > 0;
}

static bool has_suggestion(const struct find_rate_model *model)
{
    return has_result(model) && model->search.suggestion.found;
}

/* --- the search --- */

static bool search_work(void *subject, struct background_job *job, struct error *error)
{
    return rate_search_run(subject, background_job_progress, job, error);
}

static void begin_search(struct app *app)
{
    struct find_rate_model *model = model_of(app);
    rate_search_free(&model->search);
    model->searched = app->shared.form.config;
    model->search = (struct rate_search){.config = model->searched,
                                         .low = FIND_RATE_LOW,
                                         .high = FIND_RATE_HIGH,
                                         .iterations = FIND_RATE_ITERATIONS};
    model->begun = true;
    model->asked = false;
    model->done = model->of = 0;
    model->error = (struct error){0};
    model->job = background_job_start(search_work, &model->search, &model->error);
}

/* Searches when the screen is opened with other settings than those of the last search; its rate
 * does not matter. */
static void open(struct app *app)
{
    struct find_rate_model *model = model_of(app);
    bool same = model->begun;
    for (size_t i = 0; same && i < config_field_count; i++)
        same = config_fields[i].key == KEY(learning_rate) ||
               config_field_equal(&model->searched, &app->shared.form.config, &config_fields[i]);
    if (!model->job && !same && !run_list_is_busy(&app->shared.runs))
        begin_search(app);
}

/* A search may fail before a frame shows that it has begun, and give the same screen as the one
 * before, so the end of a search that the user asked for is reported. */
static void say_end(struct app *app)
{
    const struct find_rate_model *model = model_of(app);
    if (model->error.kind == ERROR_NONE)
        app_say(app, ROLE_GOOD, "%s", _("The search is done."));
    else if (model->error.kind != ERROR_INTERRUPTED)
        app_say(app, ROLE_BAD, "%s", _("The search has failed."));
}

static bool work(struct app *app)
{
    struct find_rate_model *model = model_of(app);
    if (!model->job || !background_job_poll(model->job, &model->done, &model->of))
        return false;
    background_job_finish(model->job, &model->error);
    model->job = NULL;
    model->marked = has_suggestion(model) ? model->search.suggestion.point : 0;
    if (model->asked)
        say_end(app);
    return true;
}

static double busy(const struct app *app)
{
    return model_of(app)->job ? POLL_SECONDS : INFINITY;
}

static void close(struct app *app)
{
    struct find_rate_model *model = model_of(app);
    if (model->job) {
        background_job_cancel(model->job);
        background_job_finish(model->job, NULL);
    }
    rate_search_free(&model->search);
    plot_free(&model->plot);
}

/* --- keys --- */

static void take(struct app *app)
{
    const struct find_rate_model *model = model_of(app);
    struct run_config config = app->shared.form.config;
    struct error error;
    char rate[32];
    snprintf(rate, sizeof rate, "%.2g", model->search.points[model->marked].rate);
    if (!config_set(&config, KEY(learning_rate), rate, &error)) {
        app_say_error(app, &error);
        return;
    }
    form_begin(&app->shared.form, &config);
    app_form_changed(app);
    app_show(app, SCREEN_SETUP);
    app_say(app, ROLE_GOOD, _("The learning rate is %s now."), rate);
}

static const char *refuses_stop(const struct app *app)
{
    return model_of(app)->job ? NULL : _("No search is on.");
}

static const char *refuses_search(const struct app *app)
{
    return model_of(app)->job ? _("The search is still on; s stops it.") : NULL;
}

static const char *refuses_rates(const struct app *app)
{
    const char *why = refuses_search(app);
    return why || has_result(model_of(app)) ? why : _("There is no rate to mark: u searches.");
}

static const char *refuses_suggestion(const struct app *app)
{
    const struct find_rate_model *model = model_of(app);
    const char *why = refuses_rates(app);
    if (!why && !has_suggestion(model))
        return _("There is no suggestion; the reason is below the curve.");
    return why || model->marked != model->search.suggestion.point
               ? why
               : _("The suggestion is already marked.");
}

static const char *refuses_step(const struct app *app, int steps)
{
    const struct find_rate_model *model = model_of(app);
    const char *why = refuses_rates(app);
    if (!why && steps < 0 && model->marked == 0)
        return _("There is no lower rate.");
    if (!why && steps > 0 && model->marked + 1 == model->search.count)
        return _("There is no higher rate.");
    return why;
}

static void step(struct app *app, int steps)
{
    model_of(app)->marked = list_step(model_of(app)->marked, steps, model_of(app)->search.count);
}

static void mark_suggestion(struct app *app)
{
    model_of(app)->marked = model_of(app)->search.suggestion.point;
}

static void search(struct app *app)
{
    begin_search(app);
    model_of(app)->asked = true;
}

static void stop(struct app *app)
{
    background_job_cancel(model_of(app)->job);
}

static const struct action actions[] = {
    {"Enter", "take", N_("take"), N_("take the marked rate into the form, and go there"),
     .run = take, .refused = refuses_rates},
    {"Left", "lower", N_("lower"), N_("mark the rate before"), step, refuses_step, .argument = -1},
    {"Right", "higher", N_("higher"), N_("mark the next rate"), step, refuses_step, .argument = 1},
    {"b (Home)", "suggestion", N_("suggestion"), N_("mark the suggested rate"),
     .run = mark_suggestion, .refused = refuses_suggestion},
    {"u", "search", N_("search"), N_("search again, with what the form says"), .run = search,
     .refused = refuses_search},
    {"s", "stop", N_("stop"), N_("stop the search"), .run = stop, .refused = refuses_stop},
};

/* --- drawing --- */

static struct axis loss_axis(const struct rate_search *search)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < search->count; i++) {
        low = fmin(low, fmin(search->points[i].loss, search->points[i].smoothed));
        high = fmax(high, search->points[i].smoothed);
    }
    return axis_for_range(low, high, false);
}

static long dot_of(const struct axis *axis, double value, size_t dots)
{
    const double position = axis_position(axis, value);
    return lround(fmin(fmax(position, 0), 1.5) * (double)(dots - 1));
}

static void add_curves(struct find_rate_model *model, const struct axis *x, const struct axis *y)
{
    struct plot *plot = &model->plot;
    const size_t width = plot_width(plot), height = plot_height(plot);
    const struct rate_point *points = model->search.points;
    for (size_t i = 0; i < model->search.count; i++)
        plot_dot(plot, RAW, dot_of(x, points[i].rate, width), dot_of(y, points[i].loss, height));
    const long marked = dot_of(x, points[model->marked].rate, width);
    plot_span(plot, MARKED, marked, 0, (long)height - 1);
    for (size_t i = 1; i < model->search.count; i++)
        plot_line(plot, SMOOTHED, dot_of(x, points[i - 1].rate, width),
                  dot_of(y, points[i - 1].smoothed, height), dot_of(x, points[i].rate, width),
                  dot_of(y, points[i].smoothed, height));
}

static void draw_plot(struct app *app, struct rect area)
{
    static const enum role roles[SERIES] = {ROLE_TEXT, ROLE_FAINT, ROLE_SMOOTHED, ROLE_STRONG};
    static const enum plot_style styles[SERIES] = {PLOT_DOTTED, PLOT_DOTTED, PLOT_SOLID,
                                                   PLOT_DOTTED};
    struct find_rate_model *model = model_of(app);
    const struct plot_layout layout = layout_plot(area, true);
    const struct axis x = {FIND_RATE_LOW, FIND_RATE_HIGH, true}, y = loss_axis(&model->search);
    struct error error;
    if (rect_is_empty(layout.plot))
        return;
    if (!plot_reset(&model->plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns,
                    app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    add_curves(model, &x, &y);
    draw_text(&app->canvas, layout.legend, 0, 0, ROLE_HEADING,
              _("Loss of each batch, and smoothed, over the learning rate"));
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
    plot_draw(&app->canvas, layout.plot, &model->plot, roles, styles);
    plot_axes_draw_named_x(&app->canvas, layout.axis, &x, _("learning rate, log"),
                           layout.labels.columns > 0);
    draw_cursor(
        &app->canvas, layout.plot, layout.plot.rows - 1,
        (int)dot_of(&x, model->search.points[model->marked].rate, (size_t)layout.plot.columns));
}

/* Writes what the marked point is, and how the search ended. */
static void describe(const struct find_rate_model *model, char *text, size_t size)
{
    const struct rate_search *search = &model->search;
    const struct rate_point *point = &search->points[model->marked];
    const bool suggested = has_suggestion(model) && model->marked == search->suggestion.point;
    const struct rate_suggestion *suggestion = &search->suggestion;
    size_t used;
    if (suggested)
        used = (size_t)snprintf(text, size,
                                _("Suggestion: %.2g, where the loss falls the steepest; range %.2g "
                                  "to %.2g, where it falls at least half as steeply."),
                                point->rate, search->points[suggestion->lowest].rate,
                                search->points[suggestion->highest].rate);
    else
        used = (size_t)snprintf(text, size, _("Marked: %.2g, smoothed loss %.4f."), point->rate,
                                point->smoothed);
    if (!has_suggestion(model) && used < size) {
        used += (size_t)snprintf(text + used, size - used, " ");
        if (used < size)
            used += (size_t)snprintf(text + used, size - used,
                                     _("No suggestion: %s (options of tinca find-rate)."),
                                     suggestion->reason);
    }
    if (search->diverged && used < size) {
        used += (size_t)snprintf(text + used, size - used, " ");
        snprintf(text + used, size - used, _("Above %.2g the loss grows without limit."),
                 search->points[search->count - 1].rate);
    }
}

/* Returns the rows for the text below the plot: the reason for no suggestion is longer. */
static int text_rows(const struct find_rate_model *model, int rows)
{
    enum { LEAST = 2, MOST = 5, SHARE = 3 };
    if (has_suggestion(model) || rows / SHARE < LEAST)
        return LEAST;
    return rows / SHARE < MOST ? rows / SHARE : MOST;
}

static void draw(struct app *app, struct rect body)
{
    const struct find_rate_model *model = model_of(app);
    struct rect inside = {body.row, body.column + 1, body.rows, body.columns - 2};
    char text[800];
    if (rect_is_empty(inside))
        return;
    if (has_result(model)) {
        struct rect plot = inside, below = inside;
        below.rows = text_rows(model, inside.rows);
        plot.rows -= below.rows;
        below.row += plot.rows;
        describe(model, text, sizeof text);
        draw_wrapped(&app->canvas, below, 0, ROLE_TEXT, text);
        draw_plot(app, plot);
        return;
    }
    draw_cursor(&app->canvas, inside, 0, 0);
    if (model->job)
        draw_format(&app->canvas, inside, 0, 0, ROLE_TEXT,
                    _("Searching: rate %llu of %d; the rate grows from %g to %g."),
                    (unsigned long long)model->done, FIND_RATE_ITERATIONS, FIND_RATE_LOW,
                    FIND_RATE_HIGH);
    else if (model->error.kind != ERROR_NONE && model->error.kind != ERROR_INTERRUPTED)
        draw_wrapped(&app->canvas, inside, 0, ROLE_BAD,
                     error_format(&model->error, text, sizeof text));
    else
        draw_wrapped(&app->canvas, inside, 0, ROLE_TEXT,
                     run_list_is_busy(&app->shared.runs)
                         ? _("A run is on, which a search would slow down; u searches all the "
                             "same.")
                         : _("No rate was searched; u searches."));
}

const struct screen find_rate_screen = {
    .name = N_("Find rate"),
    .letter = 'f',
    .purpose = N_("a learning rate for the form, from a short training"),
    .actions = {ACTIONS(N_("Finding a learning rate"), actions)},
    .state_size = sizeof(struct find_rate_model),
    .open = open,
    .close = close,
    .draw = draw,
    .work = work,
    .busy = busy,
};
