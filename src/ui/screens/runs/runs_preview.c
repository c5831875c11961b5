/* A run of this session or one that is watched has its curves in memory. Another saved run is read
 * by a thread, after a short rest so that moving through the list reads nothing; only the last one
 * stays in memory. */
#include "ui/screens/runs/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/app/app.h"
#include "ui/plot/axis_marks.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/legend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FROM_COLUMNS = 120, LEAST = 44, FACTS_MOST = 11, SERIES = 2 };

static const double REST_SECONDS = 0.15, POLL_SECONDS = 0.02;

static const enum trace shown[SERIES] = {TRACE_SMOOTHED, TRACE_VALIDATION};

static void free_run(struct runs_preview *preview)
{
    run_free(preview->run);
    preview->run = NULL;
    preview->read[0] = '\0';
    preview->curves_of = NULL;
    curves_invalidate(&preview->curves);
}

void runs_preview_free(struct runs_preview *preview)
{
    run_reader_drop(preview->reader);
    free_run(preview);
    curves_free(&preview->curves);
    value_range_free(&preview->range);
    plot_free(&preview->plot);
    *preview = (struct runs_preview){0};
}

void runs_preview_forget(struct runs_preview *preview, const char *directory)
{
    if (directory && strcmp(preview->read, directory) == 0)
        free_run(preview);
    preview->wanted[0] = '\0';
    preview->curves_of = NULL; /* the run of an entry may be freed now */
    curves_invalidate(&preview->curves);
}

int runs_preview_columns(struct rect body)
{
    const int wish = body.columns * 2 / 5;
    if (body.columns < FROM_COLUMNS || body.rows < 8)
        return 0;
    return wish < LEAST ? LEAST : wish;
}

/* --- reading --- */

/* Returns the curves of an entry; NULL: they are not read. */
static const struct run *run_of(const struct runs_preview *preview, const struct run_entry *entry)
{
    const char *directory = run_entry_directory(entry);
    if (entry->run)
        return entry->run;
    return directory && strcmp(preview->read, directory) == 0 ? preview->run : NULL;
}

static void request(struct runs_preview *preview, const struct run_entry *entry)
{
    if (entry->run || !run_entry_is_saved(entry) || entry->refused ||
        strcmp(preview->read, entry->directory) == 0 ||
        strcmp(preview->wanted, entry->directory) == 0)
        return;
    snprintf(preview->wanted, sizeof preview->wanted, "%s", entry->directory);
    preview->since = clock_nanoseconds();
}

static void take_read(struct runs_preview *preview)
{
    struct run_read *read = run_reader_result(preview->reader, 0);
    free_run(preview);
    preview->run = read->run;
    preview->error = read->error;
    read->run = NULL;
    snprintf(preview->read, sizeof preview->read, "%s", read->directory);
    if (strcmp(preview->wanted, preview->read) == 0)
        preview->wanted[0] = '\0';
    run_reader_drop(preview->reader);
    preview->reader = NULL;
}

void runs_preview_work(struct app *app)
{
    struct runs_preview *preview = &runs_model(app)->preview;
    const char *directory = preview->wanted;
    if (preview->reader && run_reader_done(preview->reader))
        take_read(preview);
    if (!preview->reader && preview->wanted[0] && app_is_in_front(app, SCREEN_RUNS) &&
        clock_seconds(preview->since, clock_nanoseconds()) >= REST_SECONDS)
        preview->reader = run_reader_start(RUN_DEPTH_WHOLE, &directory, 1, NULL);
}

double runs_preview_busy(const struct app *app)
{
    const struct runs_preview *preview = &runs_model(app)->preview;
    if (preview->reader)
        return POLL_SECONDS;
    if (!preview->wanted[0] || !app_is_in_front(app, SCREEN_RUNS))
        return (double)INFINITY;
    return fmax(POLL_SECONDS, REST_SECONDS - clock_seconds(preview->since, clock_nanoseconds()));
}

/* --- drawing --- */

static bool update_curves(struct app *app, const struct run *run, const struct run_entry *entry,
                          struct rect area)
{
    struct runs_preview *preview = &runs_model(app)->preview;
    const struct series *series = run_series(run);
    struct error error;
    const struct curve_view view = {
        .x = curves_available_x(series, app->shared.axes.x),
        .log_x = app->shared.axes.log_x,
        .width = (size_t)area.columns * plot_dots_across(app->symbols),
        .traces = TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_VALIDATION),
        .iterations = (double)entry->snapshot.iterations,
        .epochs = entry->snapshot.epochs,
        .over = run_status_is_over(entry->snapshot.status),
        .smoothing = app->shared.axes.smoothing,
    };
    /* another run may have taken the address of one that was freed */
    if (preview->curves_of != run || strcmp(preview->curves_id, run_facts(run)->id) != 0)
        curves_invalidate(&preview->curves);
    preview->curves_of = run;
    snprintf(preview->curves_id, sizeof preview->curves_id, "%s", run_facts(run)->id);
    if (curves_update(&preview->curves, series, &view, &error) &&
        plot_reset(&preview->plot, (size_t)area.rows, (size_t)area.columns, app->symbols, &error))
        return true;
    app_say_error(app, &error);
    return false;
}

/* Sets the y axis; a few outliers do not widen it. */
static bool make_y_axis(struct app *app, struct axis *y)
{
    struct runs_preview *preview = &runs_model(app)->preview;
    struct value_range *range = &preview->range;
    struct error error;
    value_range_begin(range, app->shared.axes.log_y, app->shared.axes.all_values);
    if (!curves_measure(&preview->curves, TRACE_SMOOTHED, range, &error) ||
        !curves_measure(&preview->curves, TRACE_VALIDATION, range, &error)) {
        app_say_error(app, &error);
        return false;
    }
    *y = value_range_axis(range, value_range_join(range));
    return true;
}

static void draw_curves(struct app *app, struct rect area, const struct run *run,
                        const struct run_entry *entry)
{
    struct runs_preview *preview = &runs_model(app)->preview;
    const struct plot_layout layout = layout_plot(area, true);
    const enum role roles[SERIES + 1] = {ROLE_TEXT, trace_role(shown[0]), trace_role(shown[1])};
    const enum plot_style styles[SERIES + 1] = {PLOT_SOLID, PLOT_SOLID, PLOT_DOTTED};
    struct legend legend = {.count = 0};
    struct axis y;
    if (rect_is_empty(layout.plot) || !update_curves(app, run, entry, layout.plot) ||
        !make_y_axis(app, &y))
        return;
    curve_draw(&preview->curves.trace[TRACE_SMOOTHED], &y, &preview->plot, 1);
    validations_draw(&preview->curves, TRACE_VALIDATION, &y, &preview->plot, 2,
                     trace_letter(TRACE_VALIDATION, false));
    for (size_t i = 0; i < SERIES; i++)
        if (trace_has_values(run_series(run), shown[i]))
            legend_add(&legend, roles[i + 1], app->canvas.glyphs->horizontal, "%s",
                       trace_legend(shown[i], trace_is_adversarial(run_series(run))));
    legend_draw(&legend, &app->canvas, layout.legend);
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
    plot_draw(&app->canvas, layout.plot, &preview->plot, roles, styles);
    plot_axes_draw_x(&app->canvas, layout.axis, &preview->curves.x, preview->curves.view.x,
                     layout.labels.columns > 0);
}

/* Draws a line for each of some fields that the run has a value in. Returns the rows used. */
static int draw_facts(struct app *app, struct rect area, const struct run_entry *entry)
{
    static const size_t fields[FACTS_MOST] = {FIGURE_TAG,
                                              FIGURE_NOTE,
                                              FIGURE_LOSS,
                                              FIGURE_VALIDATION_LOSS,
                                              FIGURE_BEST_VALIDATION_LOSS,
                                              FIGURE_TOP1,
                                              FIGURE_BEST_TOP1,
                                              FIGURE_TRAINING_MS,
                                              FIGURE_SECONDS,
                                              FIGURE_PARAMETERS,
                                              FIGURE_PEAK_MEMORY};
    struct run_record record;
    char text[FIELD_TEXT];
    int row = 0, column = 0;
    runs_record(entry, &record);
    for (size_t i = 0; i < FACTS_MOST; i++) {
        const int wide = (int)columns_of(runs_heading(fields[i])) + 2;
        column = wide > column ? wide : column;
    }
    for (size_t i = 0; i < FACTS_MOST && row < area.rows; i++) {
        if (!run_field_text(fields[i], &record, text, sizeof text)[0])
            continue;
        draw_text(&app->canvas, area, row, 0, ROLE_FAINT, runs_heading(fields[i]));
        draw_text(&app->canvas, area, row++, column, ROLE_TEXT, text);
    }
    return row;
}

/* Returns why a run was refused, failed or cannot be read; NULL: nothing of that is known. */
static const struct error *problem_of(const struct run_entry *entry)
{
    const struct error *error = entry->refused ? &entry->error : &entry->snapshot.error;
    return error->kind != ERROR_NONE ? error : NULL;
}

/* Draws the reason and what to do about it, in at most half of the area, so that there is room for
 * the curves of a run that has some. Returns the rows used, with an empty one below. */
static int draw_problem(struct app *app, struct rect area, const struct run_entry *entry)
{
    const struct error *error = problem_of(entry);
    char text[1200];
    if (!error)
        return 0;
    area.rows = area.rows > 2 ? area.rows / 2 : area.rows;
    return 1 +
           draw_wrapped(&app->canvas, area, 0, ROLE_BAD, error_format(error, text, sizeof text));
}

/* Says why there are no curves, unless the reason was drawn as the run's problem. */
static void draw_missing(struct app *app, struct rect area, const struct run_entry *entry)
{
    const struct runs_preview *preview = &runs_model(app)->preview;
    const char *directory = run_entry_directory(entry);
    const char *why = _("reading the curves ...");
    char place[300];
    if (entry->refused)
        return;
    if (!directory && entry->queue.rank > 0)
        area.row += draw_wrapped(&app->canvas, area, 0, ROLE_TEXT,
                                 runs_queue_text(app, entry, place, sizeof place));
    if (directory && strcmp(preview->read, directory) == 0)
        why = preview->error.why;
    else if (!directory)
        why = _("This run has not begun.");
    draw_wrapped(&app->canvas, area, 0, ROLE_FAINT, why);
}

void runs_preview_draw(struct app *app, struct rect area)
{
    struct runs_preview *preview = &runs_model(app)->preview;
    const size_t index = runs_model_index(app);
    for (int i = 0; i < area.rows; i++)
        draw_text(&app->canvas, area, i, 0, ROLE_FAINT, app->canvas.glyphs->vertical);
    area = (struct rect){area.row, area.column + 2, area.rows, area.columns - 3};
    if (index >= app_run_count(app))
        return;
    const struct run_entry *entry = app_run_at(app, index);
    const struct rect below = {area.row + 1, area.column, area.rows - 1, area.columns};
    char status[120];
    request(preview, entry);
    draw_format(&app->canvas, area, 0, 0, ROLE_STRONG, "%s %s",
                runs_id(entry)[0] ? runs_display_name(entry) : run_entry_network(entry),
                run_entry_status_text(entry, status, sizeof status));
    const int facts = draw_facts(app, below, entry) + 1;
    struct rect rest = {below.row + facts, below.column, below.rows - facts, below.columns};
    const struct run *run = run_of(preview, entry);
    const int used = rest.rows > 0 ? draw_problem(app, rest, entry) : 0;
    rest.row += used;
    rest.rows -= used;
    if (rest.rows < 4)
        return;
    if (run && series_count(run_series(run)) > 0)
        draw_curves(app, rest, run, entry);
    else if (!run)
        draw_missing(app, rest, entry);
}
