/* Writes the table of models: as it is shown, as a table of plain numbers for CSV, where fields are
 * empty if nothing was measured, and as JSON. */
#include "studies/models/model_table.h"

#include "base/language.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void write_factor(double factor, const char *better, const char *worse, char *text,
                         size_t size)
{
    const size_t used = strlen(text);
    if (!isfinite(factor) || fabs(factor - 1) < 0.005 || used >= size)
        return;
    snprintf(text + used, size - used, factor > 1 ? better : worse,
             factor > 1 ? factor : 1 / factor);
}

void model_append_time_ratio(double ratio, char *text, size_t size)
{
    const size_t used = strlen(text);
    if (isfinite(ratio) && ratio > 0 && used < size)
        snprintf(text + used, size - used, _(", ms ratio %.2f without a verdict"), ratio);
}

char *model_gain_text(const struct model_row *row, char *text, size_t size)
{
    if (row->origin_row == MODEL_NO_ROW) {
        snprintf(text, size, "-");
        return text;
    }
    if (isfinite(row->gain.points))
        snprintf(text, size, _("%+.2f points"), row->gain.points);
    else if (isfinite(row->now.top1))
        snprintf(text, size, "%s", _("accuracies of different data sets"));
    else
        snprintf(text, size, "%s", _("accuracy not measured"));
    if (row->gain.ms == 1)
        snprintf(text + strlen(text), size - strlen(text), "%s", _(", as fast"));
    write_factor(row->gain.ms, _(", %.2f x faster"), _(", %.2f x slower"), text, size);
    model_append_time_ratio(row->gain.ms_apart, text, size);
    write_factor(row->gain.bytes, _(", %.2f x smaller"), _(", %.2f x larger"), text, size);
    write_factor(row->gain.flops, _(", %.2f x fewer FLOPs"), _(", %.2f x more FLOPs"), text, size);
    return text;
}

/* Writes the names of the fronts that a row is on. */
static void front_text(unsigned front, const char *none, char *text, size_t size)
{
    static const char *const names[] = {"ms", "bytes", "flops"};
    size_t used = 0;
    snprintf(text, size, "%s", none);
    for (size_t i = 0; i < sizeof names / sizeof *names && used < size; i++)
        if (front & 1u << i)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", names[i]);
}

static void add_accuracy(struct table *out, const struct model_row *row)
{
    const struct model_measured *now = &row->now;
    if (row->figures.facts.classes == 0)
        table_cell(out, "-");
    else if (row->source == MODEL_ACCURACY_UNKNOWN)
        table_cell(out, "%s", _("not measured"));
    else
        table_cell(out, "%.2f (%.2f - %.2f)%s", now->top1, now->top1_low, now->top1_high,
                   row->source == MODEL_ACCURACY_VALIDATION ? " v" : "");
}

static void add_time(struct table *out, const struct model_row *row)
{
    const struct model_measured *now = &row->now;
    if (!row->timed)
        table_cell(out, "%s", _("not measured"));
    else
        table_cell(out, isfinite(now->ms_low) ? "%.4g (%.4g - %.4g)" : "%.4g", now->ms, now->ms_low,
                   now->ms_high);
}

static void add_row(struct table *out, const struct model_table *table, size_t row, bool data)
{
    char text[1200];
    const struct model_row *model = &table->rows[row];
    const struct model_description *facts = &model->figures.facts;
    table_cell(out, "%zu", row + 1);
    table_cell(out, "%s", facts->name);
    add_accuracy(out, model);
    table_cell(out, "%s", text_si((double)facts->parameters, text, sizeof text));
    table_cell(out, "%s", text_bytes(facts->bytes, text, sizeof text));
    table_cell(out, "%s", text_si((double)facts->flops, text, sizeof text));
    add_time(out, model);
    table_number(out, "%.4g", model->now.joules);
    table_number(out, "%.4g", 1e3 * model_row_figures(model).e_p);
    front_text(model->front, "-", text, sizeof text);
    table_cell(out, "%s", text);
    table_cell(out, "%s", model_gain_text(model, text, sizeof text));
    if (data)
        table_cell(out, "%s", model->data[0] ? model->data : "-");
    table_cell(out, model->copies > 0 ? _("%s (and %zu equal)") : "%s", model->shown,
               model->copies);
}

struct table model_table_shown(const struct model_table *table)
{
    const bool data = model_table_data_sets(table) > 1; /* else it tells nothing */
    struct table out = table_begin(
        data ? "rlrrrrrrrlll" : "rlrrrrrrrll",
        _("#|NAME|TOP-1 (95 %)|PARAMETERS|BYTES|FLOPS|MS (MEDIAN)|J/IMAGE|E_P x 10^-3|FRONT"));
    table_cell(&out, "%s", _("AGAINST ITS ORIGIN"));
    if (data)
        table_cell(&out, "%s", _("DATA"));
    table_cell(&out, "%s", _("MODEL"));
    out.columns = out.count;
    for (size_t i = 0; i < table->count; i++)
        add_row(&out, table, i, data);
    return out;
}

/* --- CSV --- */

struct table model_table_numbers(const struct model_table *table)
{
    char text[64];
    struct table out = table_begin(
        "l", "name|model|data|parameters|bytes|flops|top1|top1_low|top1_high|ms|ms_low|ms_high|"
             "joules_per_image|e_p|front|origin|gain_points|gain_ms|gain_bytes|gain_flops");
    for (size_t i = 0; i < table->count; i++) {
        const struct model_row *row = &table->rows[i];
        const struct model_description *facts = &row->figures.facts;
        const struct model_measured *now = &row->now;
        const double numbers[] = {(double)facts->parameters,
                                  (double)facts->bytes,
                                  (double)facts->flops,
                                  now->top1,
                                  now->top1_low,
                                  now->top1_high,
                                  now->ms,
                                  now->ms_low,
                                  now->ms_high,
                                  now->joules,
                                  model_row_figures(row).e_p},
                     gains[] = {row->gain.points, row->gain.ms, row->gain.bytes, row->gain.flops};
        table_cell(&out, "%s", facts->name);
        table_cell(&out, "%s", row->shown);
        table_cell(&out, "%s", row->data);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            table_cell(&out, "%s", figure_print_exact(numbers[k], text, sizeof text));
        front_text(row->front, "", text, sizeof text);
        table_cell(&out, "%s", text);
        table_cell(&out, "%s", row->origin_row == MODEL_NO_ROW ? "" : row->origin);
        for (size_t k = 0; k < sizeof gains / sizeof *gains; k++)
            table_cell(&out, "%s", figure_print_exact(gains[k], text, sizeof text));
    }
    return out;
}

/* --- JSON --- */

static bool add_gain(const struct model_row *row, struct json *object)
{
    struct json *gain = json_add_object(object, "gain");
    return json_add_number(gain, "points", row->gain.points) &&
           json_add_number(gain, "ms", row->gain.ms) &&
           json_add_number(gain, "ms_ratio_without_verdict", row->gain.ms_apart) &&
           json_add_number(gain, "bytes", row->gain.bytes) &&
           json_add_number(gain, "flops", row->gain.flops) &&
           json_add_number(gain, "parameters", row->gain.parameters);
}

static bool add_origin(const struct model_row *row, struct json *object)
{
    return (row->origin[0] ? json_add_string(object, "origin", row->origin)
                           : json_add_null(object, "origin")) &&
           (row->origin_row == MODEL_NO_ROW
                ? json_add_null(object, "origin_row") && json_add_null(object, "gain")
                : json_add_count(object, "origin_row", row->origin_row + 1) &&
                      add_gain(row, object));
}

static bool add_front(const struct model_row *row, struct json *object)
{
    struct json *list = json_add_array(object, "front");
    return list && (!(row->front & MODEL_FRONT_MS) || json_add_string(list, NULL, "ms")) &&
           (!(row->front & MODEL_FRONT_BYTES) || json_add_string(list, NULL, "bytes")) &&
           (!(row->front & MODEL_FRONT_FLOPS) || json_add_string(list, NULL, "flops"));
}

static bool add_interval(struct json *object, const char *key, double low, double high)
{
    struct json *list = isfinite(low) ? json_add_array(object, key) : NULL;
    return list ? json_add_number(list, NULL, low) && json_add_number(list, NULL, high)
                : json_add_null(object, key);
}

/* Adds what was measured: of what is not, null. */
static bool add_measured(const struct model_row *row, struct json *object)
{
    static const char *const sources[] = {
        [MODEL_ACCURACY_MEASURED] = "measured", [MODEL_ACCURACY_VALIDATION] = "validation"};
    const struct model_measured *now = &row->now;
    const bool known = row->source != MODEL_ACCURACY_UNKNOWN;
    return (known ? json_add_string(object, "accuracy_from", sources[row->source])
                  : json_add_null(object, "accuracy_from")) &&
           json_add_number(object, "top1", now->top1) &&
           add_interval(object, "top1_interval", now->top1_low, now->top1_high) &&
           json_add_count(object, "images", now->images) &&
           json_add_number(object, "ms", now->ms) &&
           add_interval(object, "ms_interval", now->ms_low, now->ms_high) &&
           json_add_count(object, "timed_images", now->timed) &&
           json_add_number(object, "joules_per_image", now->joules) &&
           json_add_string(object, "energy_unknown",
                           row->timed ? now->energy_unknown : "not measured") &&
           (row->timed ? json_add_string(object, "precision", now->on.precision)
                       : json_add_null(object, "precision")) &&
           json_add_number(object, "e_p", model_row_figures(row).e_p);
}

bool model_row_to_json(const struct model_table *table, size_t row, struct json *object)
{
    const struct model_row *model = &table->rows[row];
    const struct model_description *facts = &model->figures.facts;
    return json_add_count(object, "row", row + 1) && json_add_string(object, "name", facts->name) &&
           json_add_string(object, "model", model->shown) &&
           json_add_string(object, "path", model->path) &&
           json_add_count(object, "copies", model->copies) &&
           (model->data[0] ? json_add_string(object, "data", model->data)
                           : json_add_null(object, "data")) &&
           json_add_string(object, "technique", facts->technique) &&
           json_add_count(object, "parameters", facts->parameters) &&
           json_add_count(object, "bytes", facts->bytes) &&
           json_add_count(object, "flops", facts->flops) && add_measured(model, object) &&
           add_front(model, object) && add_origin(model, object);
}

struct json *model_table_to_json(const struct model_table *table)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "device", table->device);
    struct json *list = added ? json_add_array(root, "models") : NULL;
    added = list && json_add_count(root, "skipped", table->skipped);
    for (size_t i = 0; added && i < table->count; i++)
        added = model_row_to_json(table, i, json_add_object(list, NULL));
    if (added)
        return root;
    json_free(root);
    return NULL;
}
