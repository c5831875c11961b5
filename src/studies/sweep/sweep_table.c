/* Writes the tables of a sweep. Each table is first collected as cells of text; then one function
 * lays it out in columns and another as Markdown. */
#include "studies/sweep/sweep_table.h"
#include "studies/sweep/sweep_after.h"

#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/number.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_TEXT = 48, LABEL_TEXT = 160 };

static const char *const titles[SWEEP_MEASURES] = {
    [SWEEP_MS_PER_IMAGE] = N_("ms/image (median)"),
    [SWEEP_MEMORY] = N_("Memory (most that was measured)"),
    [SWEEP_LOSS] = N_("Loss at the end"),
    [SWEEP_FIRST_NEGATIVE] = N_("First iteration with a negative running mean (-: never)"),
    [SWEEP_TOP1] = N_("Top-1 accuracy at the end (%)"),
    [SWEEP_TEST_TOP1] = N_("Top-1 accuracy of the best model on the test set (%)"),
    [SWEEP_FORECAST] = N_("Memory needed (forecast)")};

const char *sweep_measure_title(enum sweep_measure measure)
{
    return gettext(titles[measure]);
}

/* --- figures --- */

double sweep_cell_value(const struct sweep_cell *cell, enum sweep_measure measure)
{
    const struct sweep_result *result = &cell->result;
    if (measure == SWEEP_FORECAST)
        return cell->forecast_known ? (double)cell->memory_needed : (double)NAN;
    if (!sweep_is_computed(cell) || !result->known)
        return (double)NAN;
    switch (measure) {
    case SWEEP_MS_PER_IMAGE:
        return result->ms_per_image > 0 ? result->ms_per_image : (double)NAN;
    case SWEEP_MEMORY:
        return result->memory_bytes > 0 ? (double)result->memory_bytes : (double)NAN;
    case SWEEP_LOSS:
        return result->loss;
    case SWEEP_FIRST_NEGATIVE:
        return (double)result->first_negative;
    case SWEEP_TEST_TOP1:
        return result->test_top1;
    default:
        return result->top1;
    }
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
                 cell->result.ms_per_image, TEXT_NUMBER(cell->result.loss, 4));
    else if (cell->reason.why[0])
        snprintf(text, size, "%zu/%zu %s: %s: %s", number, all, cell->id,
                 sweep_state_words(cell->state), sweep_reason_text(cell, reason, sizeof reason));
    else
        snprintf(text, size, "%zu/%zu %s: %s", number, all, cell->id,
                 sweep_state_words(cell->state));
    return text;
}

/* --- layout --- */

struct layout {
    const struct sweep *sweep;
    size_t columns, rows;
    char (*labels)[LABEL_TEXT];
    char (*cells)[CELL_TEXT]; /* [rows][columns] */
};

static bool layout_begin(struct layout *layout, const struct sweep *sweep, size_t rows)
{
    size_t columns = sweep_grid_columns(&sweep->grid);
    *layout = (struct layout){.sweep = sweep, .columns = columns};
    layout->labels = memory_new(rows, sizeof *layout->labels, "a table", NULL);
    layout->cells = memory_new(rows * columns, sizeof *layout->cells, "a table", NULL);
    return layout->labels && layout->cells;
}

static void layout_end(struct layout *layout)
{
    free(layout->labels);
    free(layout->cells);
}

static const char *batch_of(const struct layout *layout, size_t column)
{
    return sweep_grid_axis(&layout->sweep->grid, KEY(batch))->values[column];
}

static size_t width_of(const struct layout *layout, size_t column)
{
    size_t width = text_columns(batch_of(layout, column));
    for (size_t row = 0; row < layout->rows; row++) {
        size_t length = text_columns(layout->cells[row * layout->columns + column]);
        width = length > width ? length : width;
    }
    return width;
}

static int padding(const char *cell, size_t width)
{
    const size_t columns = text_columns(cell);
    return columns < width ? (int)(width - columns) : 0;
}

static void append_left(const char *cell, size_t width, struct text *text)
{
    visible_append_format(text, visible_append, "%s%*s", cell, padding(cell, width), "");
}

static void append_right(const char *cell, size_t width, struct text *text)
{
    visible_append_format(text, visible_append, "  %*s%s", padding(cell, width), "", cell);
}

static void write_text(const struct layout *layout, const char *corner, struct text *text)
{
    size_t width = text_columns(corner);
    for (size_t row = 0; row < layout->rows; row++) {
        size_t label = text_columns(layout->labels[row]);
        width = label > width ? label : width;
    }
    append_left(corner, width, text);
    for (size_t column = 0; column < layout->columns; column++)
        append_right(batch_of(layout, column), width_of(layout, column), text);
    for (size_t row = 0; row < layout->rows; row++) {
        text_append(text, "\n");
        append_left(layout->labels[row], width, text);
        for (size_t column = 0; column < layout->columns; column++)
            append_right(layout->cells[row * layout->columns + column], width_of(layout, column),
                         text);
    }
    text_append(text, "\n\n");
}

static void write_markdown(const struct layout *layout, const char *corner, struct text *text)
{
    visible_append_format(text, markdown_append, "| %s |", corner);
    for (size_t column = 0; column < layout->columns; column++)
        visible_append_format(text, markdown_append, " %s |", batch_of(layout, column));
    text_append(text, "\n|---|");
    for (size_t column = 0; column < layout->columns; column++)
        text_append(text, "---:|");
    for (size_t row = 0; row < layout->rows; row++) {
        visible_append_format(text, markdown_append, "\n| %s |", layout->labels[row]);
        for (size_t column = 0; column < layout->columns; column++)
            visible_append_format(text, markdown_append, " %s |",
                                  layout->cells[row * layout->columns + column]);
    }
    text_append(text, "\n\n");
}

static void write_layout(const struct layout *layout, const char *title, bool markdown,
                         struct text *text)
{
    visible_append_format(text, markdown ? markdown_append : visible_append,
                          markdown ? "### %s\n\n" : "%s\n", title);
    (markdown ? write_markdown : write_text)(layout, _("batch"), text);
}

/* --- the tables --- */

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
    struct layout layout;
    size_t rows = sweep->count / sweep_grid_columns(&sweep->grid);
    text->failed |= !layout_begin(&layout, sweep, rows);
    layout.rows = rows;
    for (size_t row = 0; !text->failed && row < rows; row++)
        sweep_grid_row_label(&sweep->grid, row, true, layout.labels[row], LABEL_TEXT);
    for (size_t i = 0; !text->failed && i < sweep->count; i++)
        sweep_cell_text(&sweep->cells[i], measure, layout.cells[i], CELL_TEXT);
    if (!text->failed)
        write_layout(&layout, sweep_measure_title(measure), markdown, text);
    layout_end(&layout);
}

/* Adds the row of a pair of devices if at least one of its factors is known. */
static void add_speedups(struct layout *layout, size_t slow, size_t fast)
{
    char(*cells)[CELL_TEXT] = &layout->cells[layout->rows * layout->columns];
    bool any = false;
    for (size_t column = 0; column < layout->columns; column++) {
        double factor = sweep_speedup(layout->sweep, slow, fast, column);
        any |= !isnan(factor);
        if (isnan(factor))
            snprintf(cells[column], CELL_TEXT, "-");
        else
            snprintf(cells[column], CELL_TEXT, "%.3g", factor);
    }
    if (any)
        sweep_grid_row_label(&layout->sweep->grid, fast, false, layout->labels[layout->rows++],
                             LABEL_TEXT);
}

static void write_pair(const struct sweep *sweep, size_t slow, size_t fast, bool markdown,
                       struct text *text)
{
    struct layout layout;
    char title[200];
    const char *const *names =
        (const char *const *)sweep_grid_axis(&sweep->grid, KEY(device))->values;
    size_t devices = sweep_grid_devices(&sweep->grid);
    size_t rows = sweep->count / sweep_grid_columns(&sweep->grid);
    text->failed |= !layout_begin(&layout, sweep, rows);
    for (size_t row = 0; !text->failed && row < rows; row += devices)
        add_speedups(&layout, row + slow, row + fast);
    snprintf(title, sizeof title,
             _("Speed-up: how often faster %s is than %s (ratios without a verdict: measured at "
               "different times)"),
             names[fast], names[slow]);
    if (!text->failed && layout.rows > 0)
        write_layout(&layout, title, markdown, text);
    layout_end(&layout);
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

static const struct {
    enum sweep_measure measure;
    const char *name; /* in JSON */
} figures[] = {{SWEEP_TOP1, "top1"},
               {SWEEP_TEST_TOP1, "test_top1"},
               {SWEEP_LOSS, "loss"},
               {SWEEP_MS_PER_IMAGE, "ms_per_image"}};
enum { FIGURES = sizeof figures / sizeof *figures };

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
    static const char *const words[FIGURES] = {N_("top-1"), N_("test top-1"), N_("loss"),
                                               N_("ms/image")};
    char label[GROUP_LABEL];
    visible_append_format(text, markdown ? markdown_append : visible_append,
                          "%s%s:", markdown ? "- " : "",
                          write_label(sweep, &sweep->cells[first].config, label, sizeof label));
    bool any = false;
    for (size_t f = 0; f < FIGURES; f++) {
        struct statistics statistics;
        size_t count;
        if (!sweep_seeds_compute(sweep, first, figures[f].measure, &count, &statistics)) {
            text->failed = true;
            return;
        }
        if (count == 0)
            continue;
        if (count == 1)
            text_append(text, _("%s %s %s (one value has no spread)"), any ? ";" : "",
                        gettext(words[f]), TEXT_NUMBER(statistics.mean, 4));
        else
            text_append(text, _("%s %s %.4g +- %s (sd %s, n %zu)"), any ? ";" : "",
                        gettext(words[f]), statistics.mean, TEXT_NUMBER(statistics.ci95, 2),
                        TEXT_NUMBER(statistics.sd, 2), count);
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
        for (size_t f = 0; added && f < FIGURES; f++) {
            struct statistics statistics;
            size_t count;
            struct json *figure = json_add_object(group, figures[f].name);
            added = sweep_seeds_compute(sweep, i, figures[f].measure, &count, &statistics) &&
                    json_add_count(figure, "n", count) &&
                    json_add_number(figure, "mean", statistics.mean) &&
                    json_add_number(figure, "sd", statistics.sd) &&
                    json_add_number(figure, "ci95", statistics.ci95);
        }
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
    sweep_after_write(sweep, markdown, text);
    write_reasons(sweep, _("What diverged"), has_diverged, markdown, text);
    write_reasons(sweep, _("What was not computed, and why"), was_not_computed, markdown, text);
}
