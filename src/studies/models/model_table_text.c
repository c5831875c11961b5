/* Writes the table of models: cells as they are shown, and the whole table as CSV, Markdown and
 * JSON. CSV has plain numbers, and empty fields where nothing was measured. */
#include "studies/models/model_table.h"

#include "base/escape/csv.h"
#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 1200 };
enum {
    COLUMN_NUMBER,
    COLUMN_NAME,
    COLUMN_ACCURACY,
    COLUMN_PARAMETERS,
    COLUMN_SIZE,
    COLUMN_FLOPS,
    COLUMN_MS,
    COLUMN_ENERGY,
    COLUMN_EFFICIENCY,
    COLUMN_FRONT,
    COLUMN_GAIN,
    COLUMN_DATA,
    COLUMN_MODEL
};
static const char *const titles[MODEL_COLUMNS] = {
    [COLUMN_NUMBER] = "#",
    [COLUMN_NAME] = N_("NAME"),
    [COLUMN_ACCURACY] = N_("TOP-1 (95 %)"),
    [COLUMN_PARAMETERS] = N_("PARAMETERS"),
    [COLUMN_SIZE] = N_("BYTES"),
    [COLUMN_FLOPS] = N_("FLOPS"),
    [COLUMN_MS] = N_("MS (MEDIAN)"),
    [COLUMN_ENERGY] = N_("J/IMAGE"),
    [COLUMN_EFFICIENCY] = "E_P x 10^-3",
    [COLUMN_FRONT] = N_("FRONT"),
    [COLUMN_GAIN] = N_("AGAINST ITS ORIGIN"),
    [COLUMN_DATA] = N_("DATA"),
    [COLUMN_MODEL] = N_("MODEL"),
};

const char *model_column_title(size_t column)
{
    return gettext(titles[column]);
}

bool model_column_is_number(size_t column)
{
    return column == COLUMN_NUMBER || (column >= COLUMN_ACCURACY && column <= COLUMN_EFFICIENCY);
}

bool model_column_is_shown(const struct model_table *table, size_t column)
{
    return column != COLUMN_DATA || model_table_data_sets(table) > 1;
}

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

static void accuracy_text(const struct model_row *row, char *text, size_t size)
{
    const struct model_measured *now = &row->now;
    if (row->figures.facts.classes == 0)
        snprintf(text, size, "-");
    else if (row->source == MODEL_ACCURACY_UNKNOWN)
        snprintf(text, size, "%s", _("not measured"));
    else
        snprintf(text, size, "%.2f (%.2f - %.2f)%s", now->top1, now->top1_low, now->top1_high,
                 row->source == MODEL_ACCURACY_VALIDATION ? " v" : "");
}

static void ms_text(const struct model_row *row, char *text, size_t size)
{
    const struct model_measured *now = &row->now;
    if (!row->timed)
        snprintf(text, size, "%s", _("not measured"));
    else if (isfinite(now->ms_low))
        snprintf(text, size, "%.4g (%.4g - %.4g)", now->ms, now->ms_low, now->ms_high);
    else
        snprintf(text, size, "%.4g", now->ms);
}

static void number_text(double value, double factor, char *text, size_t size)
{
    if (isfinite(value))
        snprintf(text, size, "%.4g", value * factor);
    else
        snprintf(text, size, "-");
}

char *model_cell(const struct model_table *table, size_t row, size_t column, char *text,
                 size_t size)
{
    const struct model_row *model = &table->rows[row];
    const struct model_description *facts = &model->figures.facts;
    switch (column) {
    case COLUMN_NUMBER:
        snprintf(text, size, "%zu", row + 1);
        break;
    case COLUMN_NAME:
        snprintf(text, size, "%s", facts->name);
        break;
    case COLUMN_ACCURACY:
        accuracy_text(model, text, size);
        break;
    case COLUMN_PARAMETERS:
        return text_si((double)facts->parameters, text, size);
    case COLUMN_SIZE:
        return text_bytes(facts->bytes, text, size);
    case COLUMN_FLOPS:
        return text_si((double)facts->flops, text, size);
    case COLUMN_MS:
        ms_text(model, text, size);
        break;
    case COLUMN_ENERGY:
        number_text(model->now.joules, 1, text, size);
        break;
    case COLUMN_EFFICIENCY:
        number_text(model->efficiency, 1e3, text, size);
        break;
    case COLUMN_FRONT:
        front_text(model->front, "-", text, size);
        break;
    case COLUMN_GAIN:
        return model_gain_text(model, text, size);
    case COLUMN_DATA:
        snprintf(text, size, "%s", model->data[0] ? model->data : "-");
        break;
    default:
        if (model->copies > 0)
            snprintf(text, size, _("%s (and %zu equal)"), model->shown, model->copies);
        else
            snprintf(text, size, "%s", model->shown);
    }
    return text;
}

/* --- CSV --- */

static void append_number(struct text *text, double value)
{
    if (isfinite(value))
        text_append(text, ",%.9g", value);
    else
        text_append(text, ",");
}

static void append_csv_row(struct text *text, const struct model_table *table, size_t row)
{
    char front[32];
    const struct model_row *model = &table->rows[row];
    const struct model_description *facts = &model->figures.facts;
    const struct model_measured *now = &model->now;
    const double numbers[] = {now->top1,   now->top1_low, now->top1_high, now->ms,
                              now->ms_low, now->ms_high,  now->joules,    model->efficiency};
    csv_append(text, facts->name);
    text_append(text, ",");
    csv_append(text, model->shown);
    text_append(text, ",");
    csv_append(text, model->data);
    text_append(text, ",%zu,%" PRIu64 ",%" PRIu64, facts->parameters, facts->bytes, facts->flops);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        append_number(text, numbers[i]);
    front_text(model->front, "", front, sizeof front);
    text_append(text, ",%s,", front);
    csv_append(text, model->origin_row == MODEL_NO_ROW ? "" : model->origin);
    append_number(text, model->gain.points);
    append_number(text, model->gain.ms);
    append_number(text, model->gain.bytes);
    append_number(text, model->gain.flops);
    text_append(text, "\n");
}

static char *finish(struct text *text)
{
    if (!text->failed)
        return text->data;
    text_free(text);
    return NULL;
}

char *model_table_csv(const struct model_table *table)
{
    struct text text = {0};
    text_append(&text, "name,model,data,parameters,bytes,flops,top1,top1_low,top1_high,ms,ms_low,"
                       "ms_high,joules_per_image,e_p,front,origin,gain_points,gain_ms,gain_bytes,"
                       "gain_flops\n");
    for (size_t i = 0; i < table->count; i++)
        append_csv_row(&text, table, i);
    return finish(&text);
}

/* --- Markdown --- */

char *model_table_markdown(const struct model_table *table)
{
    char cell[CELL];
    struct text text = {0};
    for (size_t c = 0; c < MODEL_COLUMNS; c++)
        if (model_column_is_shown(table, c))
            visible_append_format(&text, markdown_append, "| %s ", model_column_title(c));
    text_append(&text, "|\n");
    for (size_t c = 0; c < MODEL_COLUMNS; c++)
        if (model_column_is_shown(table, c))
            text_append(&text, model_column_is_number(c) ? "|---:" : "|---");
    text_append(&text, "|\n");
    for (size_t i = 0; i < table->count; i++) {
        for (size_t c = 0; c < MODEL_COLUMNS; c++)
            if (model_column_is_shown(table, c))
                visible_append_format(&text, markdown_append, "| %s ",
                                      model_cell(table, i, c, cell, sizeof cell));
        text_append(&text, "|\n");
    }
    return finish(&text);
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
           json_add_number(object, "e_p", row->efficiency);
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
