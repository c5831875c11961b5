/* Inspections of a run: the worker measures the next iterations when it is asked, and publishes the
 * result. A new one is requested every five seconds, or after a hundred times the cost of the last
 * one if that is longer. */
#include "ui/screens/run/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "runs/settings/train_command.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const double RENEW_SECONDS = 5, RENEW_COSTS = 100;

/* --- requests --- */

static bool is_old(const struct insight *insight, const struct inspection *seen)
{
    double age = clock_seconds(insight->answered, clock_nanoseconds());
    return age >= fmax(RENEW_SECONDS, RENEW_COSTS * seen->cost);
}

void insight_request(struct insight *insight, struct run_entry *entry)
{
    struct error error;
    if (!run_entry_is_active(entry))
        return;
    if (insight->run != entry->run)
        *insight = (struct insight){.run = entry->run};
    const struct inspection *seen = run_inspection(entry->run, &error);
    if (seen && seen->iteration != insight->iteration) {
        insight->iteration = seen->iteration;
        insight->answered = clock_nanoseconds();
        insight->asked = false;
    }
    if (!insight->asked && (!seen || is_old(insight, seen)))
        insight->asked = run_send(entry->run, COMMAND_INSPECT, 0);
}

/* --- no inspection yet --- */

static void draw_bench_command(struct canvas *canvas, struct rect area, int row,
                               const struct run_config *config)
{
    struct text command = {0};
    bench_command_append(&command, config);
    if (command.data && !command.failed)
        draw_wrapped(canvas, area, row, ROLE_STRONG, command.data);
    text_free(&command);
}

/* Returns why a run that is over has no inspection. */
static const char *why_not_measured(const struct run_entry *entry)
{
    if (run_facts(entry->run)->imported[0])
        return _("Not measured: another program computed this run, and it was imported.");
    switch (entry->snapshot.status) {
    case RUN_INTERRUPTED:
        return _(
            "Not measured: a run measures its last iterations, but this run's process was ended "
            "before them. Resume the run to measure them.");
    case RUN_FAILED:
    case RUN_REFUSED:
        return _("Not measured: a run measures its last iterations, but this run failed before "
                 "them.");
    default:
        return _(
            "Not measured: a run measures its last iterations, unless that would take more than "
            "a hundredth of its time. This run was too short, or an older version computed "
            "it.");
    }
}

static void explain(struct app *app, const struct run_entry *entry, struct rect area,
                    const struct error *error)
{
    char text[1200];
    const struct run_snapshot *now = &entry->snapshot;
    struct canvas *canvas = &app->canvas;
    const struct error *wrong = error->kind != ERROR_NONE ? error : &now->error;
    if (wrong->kind != ERROR_NONE && (error->kind != ERROR_NONE || run_entry_is_active(entry))) {
        draw_wrapped(canvas, area, 1, ROLE_BAD, error_format(wrong, text, sizeof text));
    } else if (run_entry_is_active(entry)) {
        draw_wrapped(canvas, area, 1, ROLE_FAINT,
                     now->status == RUN_PAUSED
                         ? _("The next iterations will be measured; space lets the run go on.")
                         : _("Measuring the next iterations ..."));
    } else if (entry->live) {
        draw_wrapped(canvas, area, 1, ROLE_FAINT,
                     _("These values are measured by the process that computes the run, while this "
                       "view is open there. What it has saved is shown when the run is over."));
    } else {
        int row = draw_wrapped(canvas, area, 1, ROLE_FAINT, why_not_measured(entry));
        if (!config_is_known(&entry->config, run_facts(entry->run)->imported, KEY(network)))
            return;
        row = draw_wrapped(canvas, area, row + 1, ROLE_FAINT,
                           _("A benchmark measures the same for the network alone:"));
        draw_bench_command(canvas, area, row, &entry->config);
    }
}

const struct inspection *insight_get(struct app *app, struct run_entry *entry, struct rect area)
{
    struct error error;
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    const struct inspection *seen = run_inspection(entry->run, &error);
    run_model(app)->insight.absent = !seen;
    if (!seen)
        explain(app, entry, inside, &error);
    return seen;
}

const char *insight_when(const struct inspection *seen, const struct run_entry *entry, char *text,
                         size_t size)
{
    const unsigned long long first = seen->iteration, count = seen->iterations;
    const unsigned long long last = first + count - 1;
    if (seen->after_end)
        snprintf(text, size,
                 ngettext("Iteration %llu, %llu time after the end",
                          "Iteration %llu, %llu times after the end", count),
                 first, count);
    else if (!run_entry_is_active(entry) && last == entry->snapshot.iteration)
        snprintf(text, size,
                 ngettext("The last iteration, %llu", "The last iterations, %llu to %llu", count),
                 first, last);
    else if (count == 1)
        snprintf(text, size, _("Iteration %llu"), first);
    else
        snprintf(text, size, _("Iterations %llu to %llu"), first, last);
    return text;
}

/* --- the parts of a view --- */

struct insight_layout insight_layout(struct listing_view *view, struct rect area, int rows)
{
    struct insight_layout layout = {0};
    const int least = 4; /* rows of a useful table: a heading and three rows */
    int summary = area.rows >= 5;
    layout.summary = (struct rect){area.row, area.column, summary, area.columns};
    area.row += summary;
    area.rows -= summary;
    view->both = area.rows >= least + 1 + rows;
    if (view->both) {
        layout.details =
            (struct rect){area.row + area.rows - rows, area.column, rows, area.columns};
        area.rows -= rows + 1;
    } else if (view->details) {
        layout.details = area;
        area.rows = 0;
    }
    layout.table = area;
    return layout;
}

/* --- text --- */

int insight_draw_text(struct canvas *canvas, struct rect area, int row, enum role role,
                      const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return draw_wrapped(canvas, area, row, role, text);
}

void insight_draw_absence(struct canvas *canvas, struct rect area, const char *why)
{
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    draw_wrapped(canvas, inside, 1, ROLE_FAINT, why);
}

void insight_draw_summary(struct canvas *canvas, struct rect area, enum role role,
                          const char *sentence, const char *brief)
{
    const bool fits = (int)columns_of(sentence) < area.columns;
    draw_text(canvas, area, 0, 1, role, fits ? sentence : brief);
}
