/* A figure is a row of figures.inc; times and energies exist once per device. A setting has its
 * field as name and value. */
#include "studies/compare/compare_figures.h"

#include "base/memory.h"
#include "base/text.h"
#include "runs/settings/config_differences.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const enum figure compare_file_figures[COMPARE_FILE_FIGURES] = {FIGURE_TOP1,
                                                                FIGURE_PARAMETERS,
                                                                FIGURE_EFFICIENCY,
                                                                FIGURE_FLOPS,
                                                                FIGURE_SIZE,
                                                                FIGURE_MEMORY,
                                                                FIGURE_BEST_TOP1,
                                                                FIGURE_TOP5,
                                                                FIGURE_LOSS,
                                                                FIGURE_VALIDATION_LOSS,
                                                                FIGURE_BEST_VALIDATION_LOSS,
                                                                FIGURE_TEST_TOP1,
                                                                FIGURE_TEST_TOP5,
                                                                FIGURE_TEST_LOSS};

static bool has_device(enum figure kind)
{
    return kind == FIGURE_ENERGY || kind == FIGURE_TIME;
}

/* --- names --- */

static bool unknown_name(const struct comparison *comparison, const char *name, struct error *error)
{
    char advice[sizeof error->advice] = "one of";
    size_t used = strlen(advice);
    for (size_t i = 0; i < FIGURES && used < sizeof advice; i++)
        if (figure_rows[i].name)
            used += (size_t)snprintf(advice + used, sizeof advice - used, "%s %s",
                                     i > FIGURE_NETWORK ? "," : "", figure_rows[i].name);
    for (size_t i = 0; i < comparison->device_count && used < sizeof advice; i++)
        used +=
            (size_t)snprintf(advice + used, sizeof advice - used, ", %s", comparison->devices[i]);
    if (used < sizeof advice)
        snprintf(advice + used, sizeof advice - used, ", or a setting such as lr");
    return error_set(error, ERROR_USAGE, name, advice, "there is no such column");
}

static bool find_device(const struct comparison *comparison, const char *name, size_t *device)
{
    for (*device = 0; *device < comparison->device_count; ++*device)
        if (strcmp(comparison->devices[*device], name) == 0)
            return true;
    return false;
}

bool compare_find_figure(const struct comparison *comparison, const char *name,
                         struct compare_figure *figure, struct error *error)
{
    *figure = (struct compare_figure){.kind = figure_find(name)};
    if (figure->kind < FIGURES)
        return true;
    for (figure->kind = 0; figure->kind < FIGURES; figure->kind++) {
        const char *its = figure_rows[figure->kind].name;
        const size_t length = its ? strlen(its) : 0;
        if (has_device(figure->kind) && strncmp(name, its, length) == 0 && name[length] == ' ' &&
            find_device(comparison, name + length + 1, &figure->device))
            return true;
    }
    *figure = (struct compare_figure){.kind = FIGURE_SETTING, .field = config_find(name)};
    if (figure->field)
        return true;
    figure->kind = FIGURE_TIME;
    return find_device(comparison, name, &figure->device) || unknown_name(comparison, name, error);
}

char *compare_figure_name(const struct comparison *comparison, const struct compare_figure *figure,
                          char *text, size_t size)
{
    if (figure->kind == FIGURE_SETTING)
        snprintf(text, size, "%s", figure->field->key);
    else if (has_device(figure->kind) && figure->device < comparison->device_count)
        snprintf(text, size, "%s %s", figure_rows[figure->kind].name,
                 comparison->devices[figure->device]);
    else
        snprintf(text, size, "%s", figure_rows[figure->kind].name);
    return text;
}

bool compare_figure_equal(const struct compare_figure *a, const struct compare_figure *b)
{
    return a->kind == b->kind && a->device == b->device && a->field == b->field;
}

bool compare_figure_is_text(const struct compare_figure *figure)
{
    if (figure->kind == FIGURE_SETTING)
        return figure->field->kind != CONFIG_COUNT && figure->field->kind != CONFIG_NUMBER;
    return figure_rows[figure->kind].unit == FIGURE_NAMES;
}

enum figure_better compare_figure_direction(const struct compare_figure *figure)
{
    return figure->kind == FIGURE_SETTING ? FIGURE_NEITHER : figure_rows[figure->kind].better;
}

/* --- the list --- */

static bool any_known(const struct comparison *comparison, const struct compare_figure *figure)
{
    for (size_t row = 0; row < comparison->count; row++)
        if (isfinite(compare_figure_value(comparison, row, figure)))
            return true;
    return false;
}

size_t compare_list_figures(const struct comparison *comparison, struct compare_figure *figures)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->field_count; i++) {
        const bool network = strcmp(comparison->fields[i]->key, KEY(network)) == 0;
        figures[count++] = network ? (struct compare_figure){.kind = FIGURE_NETWORK}
                                   : (struct compare_figure){.kind = FIGURE_SETTING,
                                                             .field = comparison->fields[i]};
    }
    static const enum figure measured[] = {FIGURE_EFFICIENCY,
                                           FIGURE_PARAMETERS,
                                           FIGURE_FLOPS,
                                           FIGURE_SIZE,
                                           FIGURE_MEMORY,
                                           FIGURE_ENERGY,
                                           FIGURE_TIME,
                                           FIGURE_LOSS,
                                           FIGURE_VALIDATION_LOSS,
                                           FIGURE_BEST_VALIDATION_LOSS,
                                           FIGURE_TOP5,
                                           FIGURE_TOP1,
                                           FIGURE_BEST_TOP1,
                                           FIGURE_TEST_LOSS,
                                           FIGURE_TEST_TOP5,
                                           FIGURE_TEST_TOP1};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        for (size_t d = 0; d < (has_device(measured[i]) ? comparison->device_count : 1); d++) {
            figures[count] = (struct compare_figure){.kind = measured[i], .device = d};
            count += any_known(comparison, &figures[count]);
        }
    return count;
}

/* --- values --- */

/* Returns whether a row has one value of a setting: a group of seeds has no single seed, and what
 * the log of another program does not give is unknown. */
static bool has_setting(const struct compare_row *row, const struct config_field *field)
{
    if (!row->run || (row->seeds.runs > 0 && strcmp(field->key, KEY(seed)) == 0))
        return false;
    return config_is_known(run_config(row->run), run_facts(row->run)->imported, field->key);
}

static double setting_value(const struct compare_row *row, const struct config_field *field)
{
    char text[512];
    double value = NAN;
    if (has_setting(row, field) && (field->kind == CONFIG_COUNT || field->kind == CONFIG_NUMBER))
        text_to_double(config_get(run_config(row->run), field->key, text, sizeof text), &value);
    return value;
}

double compare_figure_value(const struct comparison *comparison, size_t number,
                            const struct compare_figure *figure)
{
    const struct compare_row *row = &comparison->rows[number];
    const struct measurement *time;
    switch (figure->kind) {
    case FIGURE_ENERGY:
        return compare_joules(comparison, number, figure->device);
    case FIGURE_TIME:
        time = compare_time(comparison, number, figure->device);
        return time ? time->ms_per_image.mean : (double)NAN;
    case FIGURE_SETTING:
        return setting_value(row, figure->field);
    default:
        return figure_of(&row->figures, figure->kind);
    }
}

char *compare_figure_text(const struct comparison *comparison, size_t number,
                          const struct compare_figure *figure, char *text, size_t size)
{
    const struct compare_row *row = &comparison->rows[number];
    const double value = compare_figure_value(comparison, number, figure);
    text[0] = '\0';
    if (figure->kind == FIGURE_NETWORK || figure->kind == FIGURE_RUN)
        snprintf(text, size, "%s", figure->kind == FIGURE_RUN ? row->name : row->network);
    else if (figure->kind == FIGURE_SETTING)
        return has_setting(row, figure->field)
                   ? config_get(run_config(row->run), figure->field->key, text, size)
                   : text;
    else
        figure_print_short(figure->kind, value, text, size);
    return text;
}

/* --- sorting --- */

enum { TEXT = 128 }; /* bytes of a name that count */

/* Rows are sorted by these keys. `value` is lower for rows that come first. */
struct sort_key {
    double value;
    char text[TEXT];
    size_t row;
    bool known;
};

/* Rows with equal keys keep their order. */
static int by_key(const void *a, const void *b)
{
    const struct sort_key *p = a, *q = b;
    if (p->known != q->known)
        return p->known ? -1 : 1;
    if (p->known && p->value != q->value)
        return p->value < q->value ? -1 : 1;
    const int order = p->known ? strcmp(p->text, q->text) : 0;
    return order != 0 ? order : p->row < q->row ? -1 : p->row > q->row;
}

static int by_key_backwards(const void *a, const void *b)
{
    const struct sort_key *p = a, *q = b;
    const int order = strcmp(p->text, q->text);
    return p->known && q->known && order != 0 ? -order : by_key(a, b);
}

static void fill_key(const struct comparison *comparison, size_t row,
                     const struct compare_figure *figure, bool reverse, struct sort_key *key)
{
    const bool high = compare_figure_direction(figure) == FIGURE_MORE;
    key->row = row;
    if (compare_figure_is_text(figure)) {
        compare_figure_text(comparison, row, figure, key->text, sizeof key->text);
        key->known = key->text[0];
        return;
    }
    const double value = compare_figure_value(comparison, row, figure);
    key->known = isfinite(value);
    key->value = !key->known ? 0 : high != reverse ? -value : value;
}

bool compare_sort(struct comparison *comparison, const char *column, bool reverse,
                  struct error *error)
{
    struct compare_figure figure;
    if (!compare_find_figure(comparison, column, &figure, error))
        return false;
    struct sort_key *keys = memory_new(comparison->count, sizeof *keys, "the comparison", error);
    struct compare_row *rows = memory_new(comparison->count, sizeof *rows, "the comparison", error);
    const bool sorted = keys && rows;
    if (sorted && comparison->count > 0) {
        for (size_t i = 0; i < comparison->count; i++)
            fill_key(comparison, i, &figure, reverse, &keys[i]);
        qsort(keys, comparison->count, sizeof *keys, reverse ? by_key_backwards : by_key);
        for (size_t i = 0; i < comparison->count; i++)
            rows[i] = comparison->rows[keys[i].row];
        memcpy(comparison->rows, rows, comparison->count * sizeof *rows);
    }
    free(keys);
    free(rows);
    return sorted;
}
