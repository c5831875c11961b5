/* A figure is found, listed and read through the table of kinds below. A setting has its field as
 * name and value; times and energies exist once per device. */
#include "studies/compare/compare_figures.h"

#include "base/text.h"
#include "runs/settings/config_differences.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The figures without a device or a field, by enum compare_figure_kind. Those with a device have
 * the name that stands for the first device. */
static const struct {
    const char *name;
    enum compare_direction better;
} kinds[] = {[FIGURE_NETWORK] = {"network", COMPARE_NO_DIRECTION},
             [FIGURE_RUN] = {"run", COMPARE_NO_DIRECTION},
             [FIGURE_TOP1] = {"top1", COMPARE_HIGHER_IS_BETTER},
             [FIGURE_BEST_TOP1] = {"best_top1", COMPARE_HIGHER_IS_BETTER},
             [FIGURE_TOP5] = {"top5", COMPARE_HIGHER_IS_BETTER},
             [FIGURE_LOSS] = {"loss", COMPARE_LOWER_IS_BETTER},
             [FIGURE_VALIDATION_LOSS] = {"validation_loss", COMPARE_LOWER_IS_BETTER},
             [FIGURE_BEST_VALIDATION_LOSS] = {"best_validation_loss", COMPARE_LOWER_IS_BETTER},
             [FIGURE_TEST_TOP1] = {"test_top1", COMPARE_HIGHER_IS_BETTER},
             [FIGURE_TEST_TOP5] = {"test_top5", COMPARE_HIGHER_IS_BETTER},
             [FIGURE_TEST_LOSS] = {"test_loss", COMPARE_LOWER_IS_BETTER},
             [FIGURE_EFFICIENCY] = {"e_p", COMPARE_HIGHER_IS_BETTER},
             [FIGURE_PARAMETERS] = {"parameters", COMPARE_LOWER_IS_BETTER},
             [FIGURE_FLOPS] = {"flops", COMPARE_LOWER_IS_BETTER},
             [FIGURE_SIZE] = {"size", COMPARE_LOWER_IS_BETTER},
             [FIGURE_MEMORY] = {"memory", COMPARE_LOWER_IS_BETTER},
             [FIGURE_ENERGY] = {"energy", COMPARE_LOWER_IS_BETTER},
             [FIGURE_TIME] = {"ms", COMPARE_LOWER_IS_BETTER}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool has_device(enum compare_figure_kind kind)
{
    return kind == FIGURE_ENERGY || kind == FIGURE_TIME;
}

/* --- names --- */

static bool unknown_name(const struct comparison *comparison, const char *name, struct error *error)
{
    char advice[sizeof error->advice] = "one of";
    size_t used = strlen(advice);
    for (size_t i = 0; i < KINDS && used < sizeof advice; i++)
        used += (size_t)snprintf(advice + used, sizeof advice - used, "%s %s", i ? "," : "",
                                 kinds[i].name);
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
    *figure = (struct compare_figure){.kind = FIGURE_TIME};
    for (size_t i = 0; i < KINDS; i++) {
        const size_t length = strlen(kinds[i].name);
        figure->kind = (enum compare_figure_kind)i;
        if (strcmp(kinds[i].name, name) == 0)
            return true;
        if (has_device(figure->kind) && strncmp(name, kinds[i].name, length) == 0 &&
            name[length] == ' ' && find_device(comparison, name + length + 1, &figure->device))
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
        snprintf(text, size, "%s %s", kinds[figure->kind].name,
                 comparison->devices[figure->device]);
    else
        snprintf(text, size, "%s", kinds[figure->kind].name);
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
    return figure->kind == FIGURE_NETWORK || figure->kind == FIGURE_RUN;
}

enum compare_direction compare_figure_direction(const struct compare_figure *figure)
{
    return figure->kind == FIGURE_SETTING ? COMPARE_NO_DIRECTION : kinds[figure->kind].better;
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
    for (size_t kind = FIGURE_EFFICIENCY; kind < KINDS; kind++)
        for (size_t d = 0; d < (has_device(kind) ? comparison->device_count : 1); d++) {
            figures[count] = (struct compare_figure){.kind = kind, .device = d};
            count += any_known(comparison, &figures[count]);
        }
    static const enum compare_figure_kind results[] = {FIGURE_LOSS,
                                                       FIGURE_VALIDATION_LOSS,
                                                       FIGURE_BEST_VALIDATION_LOSS,
                                                       FIGURE_TOP5,
                                                       FIGURE_TOP1,
                                                       FIGURE_BEST_TOP1,
                                                       FIGURE_TEST_LOSS,
                                                       FIGURE_TEST_TOP5,
                                                       FIGURE_TEST_TOP1};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        figures[count] = (struct compare_figure){.kind = results[i]};
        count += any_known(comparison, &figures[count]);
    }
    return count;
}

/* --- values --- */

static double known(uint64_t count)
{
    return count ? (double)count : (double)NAN;
}

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
    case FIGURE_TOP1:
        return row->figures.top1;
    case FIGURE_BEST_TOP1:
        return row->figures.best_top1;
    case FIGURE_TOP5:
        return row->figures.top5;
    case FIGURE_LOSS:
        return row->figures.loss;
    case FIGURE_VALIDATION_LOSS:
        return row->figures.validation_loss;
    case FIGURE_BEST_VALIDATION_LOSS:
        return row->figures.best_validation_loss;
    case FIGURE_TEST_TOP1:
        return row->figures.test_top1;
    case FIGURE_TEST_TOP5:
        return row->figures.test_top5;
    case FIGURE_TEST_LOSS:
        return row->figures.test_loss;
    case FIGURE_EFFICIENCY:
        return row->efficiency;
    case FIGURE_PARAMETERS:
        return known(row->parameters);
    case FIGURE_FLOPS:
        return known(row->flops);
    case FIGURE_SIZE:
        return known(row->model_bytes);
    case FIGURE_MEMORY:
        return known(row->memory_bytes);
    case FIGURE_ENERGY:
        return compare_joules(comparison, number, figure->device);
    case FIGURE_TIME:
        time = compare_time(comparison, number, figure->device);
        return time ? time->ms_per_image.mean : (double)NAN;
    case FIGURE_SETTING:
        return setting_value(row, figure->field);
    default:
        return NAN;
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
    else if (!isfinite(value))
        return text;
    else if (figure->kind == FIGURE_PARAMETERS || figure->kind == FIGURE_FLOPS)
        text_si(value, text, size);
    else if (figure->kind == FIGURE_SIZE || figure->kind == FIGURE_MEMORY)
        text_bytes((uint64_t)value, text, size);
    else
        snprintf(text, size, "%.4g", value);
    return text;
}
