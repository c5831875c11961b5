/* The table of techniques after training: a row for each result of each cell, and the same as JSON.
 */
#include "studies/sweep/sweep_after.h"

#include "base/escape/table.h"
#include "base/language.h"
#include "runs/settings/settings.h"
#include "studies/models/model_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

void sweep_after_write(const struct sweep *sweep, bool markdown, struct text *text)
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
