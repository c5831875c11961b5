/* Writes the tables of a sweep. */
#include "studies/sweep/sweep_table.h"

#include "base/escape/markdown.h"
#include "base/escape/table.h"
#include "base/escape/visible.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/number.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/statistics.h"
#include "studies/models/model_table.h"
#include "studies/sweep/sweep_after.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_TEXT = 160 };

static const struct {
    enum figure figure;
    const char *title;
    const char *name, *words; /* of its mean over seeds, in JSON and in texts; NULL: none */
} measures[SWEEP_MEASURES] = {
    [SWEEP_MS_PER_IMAGE] = {FIGURE_TRAINING_MS, N_("ms/image (median)"), "ms_per_image",
                            N_("ms/image")},
    [SWEEP_MEMORY] = {FIGURE_PEAK_MEMORY, N_("Memory (most that was measured)"), NULL, NULL},
    [SWEEP_LOSS] = {FIGURE_LOSS, N_("Loss at the end"), "loss", N_("loss")},
    [SWEEP_FIRST_NEGATIVE] = {FIGURE_FIRST_NEGATIVE,
                              N_("First iteration with a negative running mean (-: never)"), NULL,
                              NULL},
    [SWEEP_TOP1] = {FIGURE_TOP1, N_("Top-1 accuracy at the end (%)"), "top1", N_("top-1")},
    [SWEEP_TEST_TOP1] = {FIGURE_TEST_TOP1,
                         N_("Top-1 accuracy of the best model on the test set (%)"), "test_top1",
                         N_("test top-1")},
    [SWEEP_FORECAST] = {FIGURE_MEMORY, N_("Memory needed (forecast)"), NULL, NULL}};

/* The measures that have means over seeds, in the order of their columns. */
static const enum sweep_measure means[] = {SWEEP_TOP1, SWEEP_TEST_TOP1, SWEEP_LOSS,
                                           SWEEP_MS_PER_IMAGE};
enum { MEANS = sizeof means / sizeof *means };

const char *sweep_measure_title(enum sweep_measure measure)
{
    return gettext(measures[measure].title);
}

/* --- figures --- */

double sweep_cell_value(const struct sweep_cell *cell, enum sweep_measure measure)
{
    if (measure == SWEEP_FORECAST)
        return cell->forecast_known ? (double)cell->memory_needed : (double)NAN;
    if (!sweep_is_computed(cell) || !cell->result.known)
        return (double)NAN;
    const double value = figure_of(&cell->result.figures, measures[measure].figure);
    return measure == SWEEP_MS_PER_IMAGE && !(value > 0) ? (double)NAN : value;
}

char *sweep_cell_text(const struct sweep_cell *cell, enum sweep_measure measure, char *text,
                      size_t size)
{
    double value = sweep_cell_value(cell, measure);
    bool never = measure == SWEEP_FIRST_NEGATIVE && value == 0;
    if (isnan(value) && cell->state != SWEEP_DONE)
        snprintf(text, size, "%s", sweep_state_words(cell->state));
    else if (isnan(value) || never)
        snprintf(text, size, "-");
    else if (measure == SWEEP_MEMORY || measure == SWEEP_FORECAST)
        text_bytes(number_to_uint64(value), text, size);
    else
        text_number(value, measure == SWEEP_FIRST_NEGATIVE ? 15 : 4, text, size);
    return text;
}

double sweep_speedup(const struct sweep *sweep, size_t slow_row, size_t fast_row, size_t column)
{
    size_t columns = sweep_grid_columns(&sweep->grid);
    double slow = sweep_cell_value(&sweep->cells[slow_row * columns + column], SWEEP_MS_PER_IMAGE);
    double fast = sweep_cell_value(&sweep->cells[fast_row * columns + column], SWEEP_MS_PER_IMAGE);
    return slow / fast;
}

/* Returns the layer, file or setting that a reason is about, or "" if it is what the cell's ID says
 * anyway. */
static const char *reason_subject(const struct sweep_cell *cell)
{
    const char *what = cell->reason.what,
               *known[] = {cell->id, network_settings(&cell->config).network,
                           machine_settings(&cell->config).device};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(what, known[i]) == 0)
            return "";
    return what;
}

char *sweep_reason_text(const struct sweep_cell *cell, char *text, size_t size)
{
    const char *subject = reason_subject(cell), *advice = cell->reason.advice;
    snprintf(text, size, "%s%s%s%s%s", subject, subject[0] ? ": " : "", cell->reason.why,
             advice[0] ? "; " : "", advice);
    return text;
}

char *sweep_outcome_text(const struct sweep *sweep, size_t index, char *text, size_t size)
{
    char reason[1200];
    const struct sweep_cell *cell = &sweep->cells[index];
    const size_t number = index + 1, all = sweep->count;
    if (cell->state == SWEEP_DONE && !cell->result.known)
        snprintf(text, size, _("%zu/%zu %s: done, but its results cannot be read"), number, all,
                 cell->id);
    else if (cell->state == SWEEP_DONE)
        snprintf(text, size, _("%zu/%zu %s: done, %.4g ms/image, loss %s"), number, all, cell->id,
                 cell->result.figures.training_ms, TEXT_NUMBER(cell->result.figures.loss, 4));
    else if (cell->reason.why[0])
        snprintf(text, size, "%zu/%zu %s: %s: %s", number, all, cell->id,
                 sweep_state_words(cell->state), sweep_reason_text(cell, reason, sizeof reason));
    else
        snprintf(text, size, "%zu/%zu %s: %s", number, all, cell->id,
                 sweep_state_words(cell->state));
    return text;
}

/* --- the tables --- */

/* Returns a table with a column for each batch behind the labels of its rows. */
static struct table begin(const struct sweep *sweep)
{
    const struct sweep_axis *batches = sweep_grid_axis(&sweep->grid, KEY(batch));
    struct table table = {.columns = 1 + sweep_grid_columns(&sweep->grid), .align = "lr"};
    table_cell(&table, "%s", _("batch"));
    for (size_t i = 0; i + 1 < table.columns; i++)
        table_cell(&table, "%s", batches->values[i]);
    return table;
}

static bool has_figure(const struct sweep *sweep, enum sweep_measure measure)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (!isnan(sweep_cell_value(&sweep->cells[i], measure)))
            return true;
    return false;
}

static void write_measure(const struct sweep *sweep, enum sweep_measure measure, bool markdown,
                          struct text *text)
{
    char cell[LABEL_TEXT];
    const size_t columns = sweep_grid_columns(&sweep->grid);
    struct table table = begin(sweep);
    for (size_t i = 0; i < sweep->count; i++) {
        if (i % columns == 0)
            table_cell(&table, "%s",
                       sweep_grid_row_label(&sweep->grid, i / columns, true, cell, sizeof cell));
        table_cell(&table, "%s", sweep_cell_text(&sweep->cells[i], measure, cell, sizeof cell));
    }
    table_put_section(&table, sweep_measure_title(measure), markdown, text);
}

/* Adds the row of a pair of devices if at least one of its factors is known. */
static void add_speedups(const struct sweep *sweep, struct table *table, size_t slow, size_t fast)
{
    char label[LABEL_TEXT];
    bool any = false;
    for (size_t column = 0; column + 1 < table->columns; column++)
        any |= !isnan(sweep_speedup(sweep, slow, fast, column));
    if (!any)
        return;
    table_cell(table, "%s", sweep_grid_row_label(&sweep->grid, fast, false, label, sizeof label));
    for (size_t column = 0; column + 1 < table->columns; column++) {
        const double factor = sweep_speedup(sweep, slow, fast, column);
        table_cell(table, isnan(factor) ? "-" : "%.3g", factor);
    }
}

static void write_pair(const struct sweep *sweep, size_t slow, size_t fast, bool markdown,
                       struct text *text)
{
    char title[200];
    const char *const *names =
        (const char *const *)sweep_grid_axis(&sweep->grid, KEY(device))->values;
    const size_t devices = sweep_grid_devices(&sweep->grid);
    const size_t rows = sweep->count / sweep_grid_columns(&sweep->grid);
    struct table table = begin(sweep);
    for (size_t row = 0; row < rows; row += devices)
        add_speedups(sweep, &table, row + slow, row + fast);
    snprintf(title, sizeof title,
             _("Speed-up: how often faster %s is than %s (ratios without a verdict: measured at "
               "different times)"),
             names[fast], names[slow]);
    if (table.count > table.columns)
        table_put_section(&table, title, markdown, text);
    table_free(&table);
}

static bool was_not_computed(const struct sweep_cell *cell)
{
    return cell->state == SWEEP_FAILED || cell->state == SWEEP_CANNOT_FIT ||
           cell->state == SWEEP_SKIPPED || sweep_was_killed(cell);
}

static bool has_diverged(const struct sweep_cell *cell)
{
    return cell->state == SWEEP_DIVERGED;
}

static void write_reasons(const struct sweep *sweep, const char *title,
                          bool (*is_one)(const struct sweep_cell *cell), bool markdown,
                          struct text *text)
{
    bool any = false;
    char reason[1200];
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        if (!is_one(cell))
            continue;
        if (!any)
            text_append(text, markdown ? "### %s\n\n" : "%s\n", title);
        any = true;
        visible_append_format(text, markdown ? markdown_append : visible_append, "%s%s: %s: %s\n",
                              markdown ? "- " : "", cell->id, sweep_state_words(cell->state),
                              sweep_reason_text(cell, reason, sizeof reason));
    }
    if (any)
        text_append(text, "\n");
}

/* --- groups of cells that differ in their seed only --- */

enum { GROUP_LABEL = 300 };

/* Returns whether a cell is the first one of a group of seeds. */
static bool leads_group(const struct sweep *sweep, size_t index)
{
    const char *group = record_settings(&sweep->cells[index].config).seed_group;
    for (size_t i = 0; i < index; i++)
        if (strcmp(record_settings(&sweep->cells[i].config).seed_group, group) == 0)
            return false;
    return group[0];
}

bool sweep_seeds_are_alike(const struct sweep *sweep, size_t a, size_t b)
{
    const char *group = record_settings(&sweep->cells[a].config).seed_group;
    return group[0] && strcmp(group, record_settings(&sweep->cells[b].config).seed_group) == 0;
}

bool sweep_seeds_compute(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                         size_t *count, struct statistics *statistics)
{
    double *values = memory_new(sweep->count, sizeof *values, "the statistics", NULL);
    *count = 0;
    for (size_t i = 0; values && i < sweep->count; i++) {
        const double value = sweep_cell_value(&sweep->cells[i], measure);
        if (sweep_seeds_are_alike(sweep, member, i) && isfinite(value))
            values[(*count)++] = value;
    }
    const bool computed = values && statistics_compute(values, *count, statistics, NULL);
    free(values);
    return computed;
}

/* Writes what the cells of a group share: "lenet, batch 20, lr 0.1". */
static char *write_label(const struct sweep *sweep, const struct run_config *config, char *text,
                         size_t size)
{
    char value[200];
    config_network_name(network_settings(config).network, value, sizeof value);
    size_t length = (size_t)snprintf(text, size, "%s", value);
    for (size_t a = 0; a < sweep->grid.axis_count && length < size; a++) {
        const char *key = sweep->grid.axes[a].field->key;
        if (strcmp(key, KEY(seed)) == 0 || strcmp(key, KEY(network)) == 0 ||
            sweep->grid.axes[a].count < 2)
            continue;
        length += (size_t)snprintf(text + length, size - length, ", %s %s", key,
                                   config_get(config, key, value, sizeof value));
    }
    return text;
}

/* Appends "top-1 69.7 +- 13 (sd 5.3, n 3)" for each figure that is known. */
static void write_group(const struct sweep *sweep, size_t first, bool markdown, struct text *text)
{
    char label[GROUP_LABEL];
    visible_append_format(text, markdown ? markdown_append : visible_append,
                          "%s%s:", markdown ? "- " : "",
                          write_label(sweep, &sweep->cells[first].config, label, sizeof label));
    bool any = false;
    for (size_t f = 0; f < MEANS; f++) {
        struct statistics statistics;
        size_t count;
        if (!sweep_seeds_compute(sweep, first, means[f], &count, &statistics)) {
            text->failed = true;
            return;
        }
        if (count == 0)
            continue;
        if (count == 1)
            text_append(text, _("%s %s %s (one value has no spread)"), any ? ";" : "",
                        gettext(measures[means[f]].words), TEXT_NUMBER(statistics.mean, 4));
        else
            text_append(text, _("%s %s %.4g +- %s (sd %s, n %zu)"), any ? ";" : "",
                        gettext(measures[means[f]].words), statistics.mean,
                        TEXT_NUMBER(statistics.ci95, 2), TEXT_NUMBER(statistics.sd, 2), count);
        any = true;
    }
    text_append(text, "%s\n", any ? "" : _(" nothing is computed yet"));
}

/* Appends a line for each group of seeds: mean, 95 % interval and standard deviation of its
 * figures. Appends nothing if there are none. */
static void write_seeds(const struct sweep *sweep, bool markdown, struct text *text)
{
    bool any = false;
    for (size_t i = 0; i < sweep->count; i++) {
        if (!leads_group(sweep, i))
            continue;
        if (!any)
            text_append(text, markdown ? "### %s\n\n" : "%s\n",
                        /* xgettext:no-c-format */
                        _("Means over the seeds, with 95 % intervals (Student's t)"));
        any = true;
        write_group(sweep, i, markdown, text);
    }
    if (any)
        text_append(text, "\n");
}

bool sweep_seeds_to_json(const struct sweep *sweep, struct json *list)
{
    bool added = list;
    for (size_t i = 0; added && i < sweep->count; i++) {
        if (!leads_group(sweep, i))
            continue;
        struct json *group = json_add_object(list, NULL);
        const char *id = record_settings(&sweep->cells[i].config).seed_group;
        struct json *cells = json_add_array(group, "cells");
        added = json_add_string(group, "group", id) && cells;
        for (size_t k = i; added && k < sweep->count; k++)
            if (strcmp(record_settings(&sweep->cells[k].config).seed_group, id) == 0)
                added = json_add_string(cells, NULL, sweep->cells[k].id);
        for (size_t f = 0; added && f < MEANS; f++) {
            struct statistics statistics;
            size_t count;
            struct json *figure = json_add_object(group, measures[means[f]].name);
            added = sweep_seeds_compute(sweep, i, means[f], &count, &statistics) &&
                    json_add_count(figure, "n", count) &&
                    json_add_number(figure, "mean", statistics.mean) &&
                    json_add_number(figure, "sd", statistics.sd) &&
                    json_add_number(figure, "ci95", statistics.ci95);
        }
    }
    return added;
}

/* --- techniques after training --- */

/* The table of techniques after training: a row for each result of each cell, and the same as JSON.
 */

enum { CELL = 240 };

/* --- cells --- */

/* Writes the label of a cell with its batch. */
static char *cell_label(const struct sweep *sweep, size_t index, char *text, size_t size)
{
    const size_t columns = sweep_grid_columns(&sweep->grid);
    char label[160];
    sweep_grid_row_label(&sweep->grid, index / columns, true, label, sizeof label);
    if (columns > 1)
        snprintf(text, size, _("%s, batch %zu"), label,
                 training_settings(&sweep->cells[index].config).batch);
    else
        snprintf(text, size, "%s", label);
    return text;
}

static void append_factor(double before, double after, const char *better, const char *worse,
                          char *text, size_t size)
{
    const size_t used = strlen(text);
    const double factor = before / after;
    if (!isfinite(factor) || factor <= 0 || fabs(factor - 1) < 0.005 || used >= size)
        return;
    snprintf(text + used, size - used, factor > 1 ? better : worse,
             factor > 1 ? factor : 1 / factor);
}

/* Writes what a technique changed, if the model as it was trained is measured. Returns `text`. */
static char *compare(const struct sweep_after_result *trained,
                     const struct sweep_after_result *result, char *text, size_t size)
{
    text[0] = '\0';
    if (trained->state != SWEEP_AFTER_DONE || result == trained)
        return text;
    const double points = result->measured.top1 - trained->measured.top1;
    if (isfinite(points))
        snprintf(text, size, _("%+.2f points"), points);
    else
        snprintf(text, size, "%s", _("accuracy not measured"));
    model_append_time_ratio(result->measured.ms / trained->measured.ms, text, size);
    append_factor((double)trained->facts.bytes, (double)result->facts.bytes, _(", %.2f x smaller"),
                  _(", %.2f x larger"), text, size);
    return text;
}

static void add_figures(struct table *table, const struct sweep_after_result *trained,
                        const struct sweep_after_result *result)
{
    char text[CELL];
    const struct model_measured *measured = &result->measured;
    table_cell(table, "%s", text_si((double)result->facts.parameters, text, sizeof text));
    table_cell(table, "%s", text_bytes(result->facts.bytes, text, sizeof text));
    table_cell(table, "%s", text_si((double)result->facts.flops, text, sizeof text));
    table_cell(table, isfinite(measured->top1) ? "%.2f (%.2f - %.2f)" : "-", measured->top1,
               measured->top1_low, measured->top1_high);
    table_cell(table, isfinite(measured->ms_low) ? "%.4g (%.4g - %.4g)" : "%.4g", measured->ms,
               measured->ms_low, measured->ms_high);
    table_cell(table, "%s", compare(trained, result, text, sizeof text));
}

char *sweep_after_label(const struct sweep *sweep, const char *chain, char *text, size_t size)
{
    const size_t epochs = sweep->grid.after_epochs > 0 ? sweep->grid.after_epochs : 1;
    if (strcmp(chain, SWEEP_CONTROL) == 0)
        snprintf(text, size, ngettext("trained on, %zu epoch", "trained on, %zu epochs", epochs),
                 epochs);
    else
        snprintf(text, size, "%s", chain[0] ? chain : "-");
    return text;
}

static void add_row(struct table *table, const struct sweep *sweep, size_t index, size_t number,
                    const struct sweep_after_result *trained,
                    const struct sweep_after_result *result)
{
    char text[CELL];
    const struct error *reason = &result->reason;
    table_cell(table, "%s", cell_label(sweep, index, text, sizeof text));
    table_cell(table, "%s",
               sweep_after_label(sweep, sweep_after_chain(sweep, number), text, sizeof text));
    if (result->state == SWEEP_AFTER_DONE) {
        add_figures(table, trained, result);
        return;
    }
    table_fill(table, 5, "-");
    table_cell(table, reason->kind != ERROR_NONE ? "%s: %s: %s" : "%s",
               sweep_state_words(sweep_after_cell_state(result)), reason->what, reason->why);
}

/* Appends the table with a row for each result of each computed cell, if the grid has chains. */
static void write_afters(const struct sweep *sweep, bool markdown, struct text *text)
{
    struct sweep_after_result results[SWEEP_AFTERS + 1];
    struct table table =
        table_begin("llrrrrrl", _("cell|after|parameters|bytes|FLOPs|top-1 (95 %)|ms (median)|"
                                  "against the trained one"));
    for (size_t i = 0; i < sweep->count; i++)
        for (size_t n = 0; sweep->cells[i].state == SWEEP_DONE && n < sweep_after_count(sweep);
             n++) {
            sweep_after_read(sweep, i, n, &results[n]);
            add_row(&table, sweep, i, n, &results[0], &results[n]);
        }
    if (table.count > table.columns)
        table_put_section(&table, _("After training (measured on the validation data)"), markdown,
                          text);
    table_free(&table);
}

/* --- JSON --- */

static bool add_result(struct json *list, const char *chain,
                       const struct sweep_after_result *result)
{
    char reason[1200];
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "chain", chain) &&
           json_add_string(object, "state", sweep_state_name(sweep_after_cell_state(result))) &&
           (result->reason.kind != ERROR_NONE
                ? json_add_string(object, "reason",
                                  error_format(&result->reason, reason, sizeof reason))
                : json_add_null(object, "reason")) &&
           (result->state == SWEEP_AFTER_DONE
                ? model_description_to_json(json_add_object(object, "model"), &result->facts) &&
                      model_measured_to_json(json_add_object(object, "measured"), &result->measured)
                : json_add_null(object, "model") && json_add_null(object, "measured"));
}

bool sweep_after_to_json(const struct sweep *sweep, size_t index, struct json *object)
{
    const size_t results = sweep->cells[index].state == SWEEP_DONE ? sweep_after_count(sweep) : 0;
    struct json *list = json_add_array(object, "after");
    struct sweep_after_result result;
    bool added = list;
    for (size_t i = 0; added && i < results; i++) {
        sweep_after_read(sweep, index, i, &result);
        added = add_result(list, sweep_after_chain(sweep, i), &result);
    }
    return added;
}

/* --- all tables --- */

void sweep_write_tables(const struct sweep *sweep, bool markdown, struct text *text)
{
    size_t devices = sweep_grid_devices(&sweep->grid);
    for (enum sweep_measure m = 0; m < SWEEP_FORECAST; m++)
        if (has_figure(sweep, m))
            write_measure(sweep, m, markdown, text);
    if (!has_figure(sweep, SWEEP_MS_PER_IMAGE) && has_figure(sweep, SWEEP_FORECAST))
        write_measure(sweep, SWEEP_FORECAST, markdown, text);
    for (size_t slow = 0; slow < devices; slow++)
        for (size_t fast = 0; fast < devices; fast++)
            if (slow != fast)
                write_pair(sweep, slow, fast, markdown, text);
    write_seeds(sweep, markdown, text);
    write_afters(sweep, markdown, text);
    write_reasons(sweep, _("What diverged"), has_diverged, markdown, text);
    write_reasons(sweep, _("What was not computed, and why"), was_not_computed, markdown, text);
}
