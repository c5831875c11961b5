/* The table of techniques after training: a row for each result of each cell, and the same as JSON.
 */
#include "studies/sweep/sweep_after.h"

#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/settings.h"
#include "studies/models/model_table.h"
#include "studies/sweep/sweep_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, CELL = 240 };

struct row {
    char cells[COLUMNS][CELL];
};

static const char *const titles[COLUMNS] = {
    N_("cell"),  N_("after"),        N_("parameters"),  N_("bytes"),
    N_("FLOPs"), N_("top-1 (95 %)"), N_("ms (median)"), N_("against the trained one")};

static bool is_text(size_t column)
{
    return column < 2 || column == COLUMNS - 1;
}

/* --- cells --- */

/* Writes the label of a cell with its batch. */
static void cell_label(const struct sweep *sweep, size_t index, char *text, size_t size)
{
    const size_t columns = sweep_grid_columns(&sweep->grid);
    char label[160];
    sweep_grid_row_label(&sweep->grid, index / columns, true, label, sizeof label);
    if (columns > 1)
        snprintf(text, size, _("%s, batch %zu"), label,
                 training_settings(&sweep->cells[index].config).batch);
    else
        snprintf(text, size, "%s", label);
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

/* Writes what a technique changed, if the model as it was trained is measured. */
static void compare(const struct sweep_after_result *trained,
                    const struct sweep_after_result *result, char *text, size_t size)
{
    text[0] = '\0';
    if (trained->state != SWEEP_AFTER_DONE || result == trained)
        return;
    const double points = result->measured.top1 - trained->measured.top1;
    if (isfinite(points))
        snprintf(text, size, _("%+.2f points"), points);
    else
        snprintf(text, size, "%s", _("accuracy not measured"));
    model_append_time_ratio(result->measured.ms / trained->measured.ms, text, size);
    append_factor((double)trained->facts.bytes, (double)result->facts.bytes, _(", %.2f x smaller"),
                  _(", %.2f x larger"), text, size);
}

static void fill_figures(const struct sweep_after_result *trained,
                         const struct sweep_after_result *result, struct row *row)
{
    const struct model_measured *measured = &result->measured;
    text_si((double)result->facts.parameters, row->cells[2], CELL);
    text_bytes(result->facts.bytes, row->cells[3], CELL);
    text_si((double)result->facts.flops, row->cells[4], CELL);
    if (isfinite(measured->top1))
        snprintf(row->cells[5], CELL, "%.2f (%.2f - %.2f)", measured->top1, measured->top1_low,
                 measured->top1_high);
    else
        snprintf(row->cells[5], CELL, "-");
    if (isfinite(measured->ms_low))
        snprintf(row->cells[6], CELL, "%.4g (%.4g - %.4g)", measured->ms, measured->ms_low,
                 measured->ms_high);
    else
        snprintf(row->cells[6], CELL, "%.4g", measured->ms);
    compare(trained, result, row->cells[7], CELL);
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

static void fill(const struct sweep *sweep, size_t index, size_t number,
                 const struct sweep_after_result *trained, const struct sweep_after_result *result,
                 struct row *row)
{
    const char *chain = sweep_after_chain(sweep, number);
    *row = (struct row){0};
    cell_label(sweep, index, row->cells[0], CELL);
    sweep_after_label(sweep, chain, row->cells[1], CELL);
    if (result->state == SWEEP_AFTER_DONE) {
        fill_figures(trained, result, row);
        return;
    }
    for (size_t c = 2; c < COLUMNS - 1; c++)
        snprintf(row->cells[c], CELL, "-");
    const char *const words = sweep_state_words(sweep_after_cell_state(result));
    if (result->reason.kind != ERROR_NONE)
        snprintf(row->cells[COLUMNS - 1], CELL, "%s: %s: %s", words, result->reason.what,
                 result->reason.why);
    else
        snprintf(row->cells[COLUMNS - 1], CELL, "%s", words);
}

/* Fills the rows of all cells whose run is done, and returns their number. */
static size_t fill_rows(const struct sweep *sweep, struct row *rows)
{
    size_t count = 0;
    struct sweep_after_result results[SWEEP_AFTERS + 1];
    for (size_t i = 0; i < sweep->count; i++) {
        if (sweep->cells[i].state != SWEEP_DONE)
            continue;
        for (size_t n = 0; n < sweep_after_count(sweep); n++) {
            sweep_after_read(sweep, i, n, &results[n]);
            fill(sweep, i, n, &results[0], &results[n], &rows[count++]);
        }
    }
    return count;
}

/* --- layout --- */

static void write_text(const struct row *rows, size_t count, struct text *text)
{
    size_t widths[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        widths[c] = text_columns(gettext(titles[c]));
        for (size_t r = 0; r < count; r++) {
            const size_t width = text_columns(rows[r].cells[c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (size_t r = 0; r <= count; r++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            const char *cell = r > 0 ? rows[r - 1].cells[c] : gettext(titles[c]);
            const int pad = (int)(widths[c] - text_columns(cell));
            if (!is_text(c))
                text_append(text, "%*s", pad, "");
            visible_append(text, cell);
            if (c + 1 < COLUMNS)
                text_append(text, "%*s  ", is_text(c) ? pad : 0, "");
        }
        text_append(text, "\n");
    }
    text_append(text, "\n");
}

static void write_markdown(const struct row *rows, size_t count, struct text *text)
{
    for (size_t c = 0; c < COLUMNS; c++)
        visible_append_format(text, markdown_append, "| %s ", gettext(titles[c]));
    text_append(text, "|\n");
    for (size_t c = 0; c < COLUMNS; c++)
        text_append(text, is_text(c) ? "|---" : "|---:");
    text_append(text, "|\n");
    for (size_t r = 0; r < count; r++) {
        for (size_t c = 0; c < COLUMNS; c++)
            visible_append_format(text, markdown_append, "| %s ", rows[r].cells[c]);
        text_append(text, "|\n");
    }
    text_append(text, "\n");
}

void sweep_after_write(const struct sweep *sweep, bool markdown, struct text *text)
{
    const size_t results = sweep_after_count(sweep);
    if (results == 0)
        return;
    struct row *rows = memory_new(sweep->count * results, sizeof *rows, "a table", NULL);
    const size_t count = rows ? fill_rows(sweep, rows) : 0;
    text->failed |= !rows;
    if (count > 0) {
        visible_append_format(text, markdown ? markdown_append : visible_append,
                              markdown ? "### %s\n\n" : "%s\n",
                              _("After training (measured on the validation data)"));
        (markdown ? write_markdown : write_text)(rows, count, text);
    }
    free(rows);
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
