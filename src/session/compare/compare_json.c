/* Writes the comparison as JSON, in full precision, with null for values that were not measured. */
#include "session/compare/compare_significance.h"
#include "session/compare/pareto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool add_count_or_null(struct json *object, const char *key, uint64_t value)
{
    return value > 0 ? json_add_count(object, key, value) : json_add_null(object, key);
}

static bool add_related(const struct comparison *comparison, size_t row, size_t device,
                        struct json *object)
{
    struct json *list = json_add_array(object, "not_distinguishable_from");
    bool added = list;
    for (size_t i = 0; i < comparison->count; i++)
        if (compare_rows(comparison, device, row, i) == COMPARE_INDISTINGUISHABLE)
            added = added && json_add_string(list, NULL, comparison->rows[i].name);
    return added;
}

static bool add_time(const struct comparison *comparison, size_t row, size_t device,
                     struct json *list)
{
    const struct measurement *time = compare_time(comparison, row, device);
    const struct statistics *ms = &time->ms_per_image;
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "device", time->device) &&
           json_add_number(object, "median", ms->median) &&
           json_add_number(object, "min", ms->min) && json_add_number(object, "mean", ms->mean) &&
           json_add_number(object, "sd", ms->sd) && json_add_number(object, "ci95", ms->ci95) &&
           add_count_or_null(object, "images", time->images) &&
           add_count_or_null(object, "threads", time->threads) &&
           json_add_string(object, "host", time->host) &&
           json_add_string(object, "cpu", time->cpu) &&
           add_count_or_null(object, "memory_bytes", time->memory_bytes) &&
           json_add_number(object, "joules_per_image", time->joules_per_image) &&
           json_add_number(object, "watts", time->watts) &&
           (!time->energy_unknown[0] ||
            json_add_string(object, "energy_unknown", time->energy_unknown)) &&
           add_related(comparison, row, device, object);
}

/* Adds the speed-up of each pair of devices once, with the faster device first. */
static bool add_speed_ups(const struct comparison *comparison, size_t row, struct json *list)
{
    bool added = list;
    for (size_t fast = 0; fast < comparison->device_count; fast++)
        for (size_t slow = 0; slow < comparison->device_count; slow++) {
            const double factor = compare_speed_up(comparison, row, fast, slow);
            if (!(factor > 1 || (factor == 1 && fast < slow)))
                continue;
            struct json *object = json_add_object(list, NULL);
            added = added && json_add_string(object, "device", comparison->devices[fast]) &&
                    json_add_string(object, "over", comparison->devices[slow]) &&
                    json_add_number(object, "factor", factor);
        }
    return added;
}

/* Adds the settings in which the runs differ, if they are columns of the table. */
static bool add_settings(const struct comparison *comparison, size_t row, struct json *object)
{
    char value[512];
    if (comparison->field_count == 0)
        return true;
    struct json *settings = json_add_object(object, "settings");
    bool added = settings;
    for (size_t i = 0; i < comparison->field_count; i++) {
        const struct compare_figure figure = {.kind = FIGURE_SETTING,
                                              .field = comparison->fields[i]};
        const double number = compare_figure_value(comparison, row, &figure);
        compare_figure_text(comparison, row, &figure, value, sizeof value);
        added = added && (isfinite(number) ? json_add_number(settings, figure.field->key, number)
                          : value[0]       ? json_add_string(settings, figure.field->key, value)
                                           : json_add_null(settings, figure.field->key));
    }
    return added;
}

/* Adds the results other than top-1. */
static bool add_results(const struct run_figures *figures, struct json *object)
{
    return json_add_number(object, "best_top1", figures->best_top1) &&
           json_add_number(object, "top5", figures->top5) &&
           json_add_number(object, "loss", figures->loss) &&
           json_add_number(object, "validation_loss", figures->validation_loss) &&
           json_add_number(object, "best_validation_loss", figures->best_validation_loss);
}

/* Adds the group of seeds, with its runs and the statistics of their results, and the interval of
 * the accuracy of a single run. */
static bool add_spread(const struct compare_row *row, struct json *object)
{
    double low, high;
    bool added = true;
    if (row->seeds.runs == 0)
        added = json_add_null(object, "seeds");
    else {
        struct json *seeds = json_add_object(object, "seeds");
        struct json *list = json_add_array(seeds, "runs");
        added = json_add_string(seeds, "group", run_config(row->run)->seed_group) && list;
        for (size_t i = 0; i < row->seeds.runs; i++)
            added = added && json_add_string(list, NULL, run_facts(row->members[i])->id);
        added = added && seed_statistics_to_json(&row->seeds, seeds);
    }
    if (!compare_wilson(row, &low, &high))
        return added && json_add_null(object, "best_top1_interval");
    struct json *interval = json_add_object(object, "best_top1_interval");
    return added && json_add_string(interval, "method", "wilson") &&
           json_add_count(interval, "images", row->images) &&
           json_add_number(interval, "low", low) && json_add_number(interval, "high", high);
}

bool compare_row_to_json(const struct comparison *comparison, size_t number, struct json *object)
{
    const struct compare_row *row = &comparison->rows[number];
    bool added = json_add_string(object, "run", row->name) &&
                 (row->given[0] ? json_add_string(object, "name", row->given)
                                : json_add_null(object, "name")) &&
                 json_add_bool(object, "published", !row->run) &&
                 json_add_string(object, "network", row->network) &&
                 json_add_string(object, "technique", row->technique) &&
                 json_add_string(object, "data", row->data) &&
                 json_add_string(object, "accuracy", row->accuracy) &&
                 json_add_number(object, "top1", row->figures.top1) &&
                 add_count_or_null(object, "parameters", row->parameters) &&
                 json_add_number(object, "e_p", row->efficiency) &&
                 add_count_or_null(object, "flops", row->flops) &&
                 add_count_or_null(object, "model_bytes", row->model_bytes) &&
                 add_count_or_null(object, "training_memory_bytes", row->memory_bytes);
    added = added && add_results(&row->figures, object) && add_spread(row, object) &&
            add_settings(comparison, number, object);
    struct json *times = json_add_array(object, "ms_per_image");
    for (size_t d = 0; d < comparison->device_count; d++)
        if (compare_time(comparison, number, d))
            added = added && add_time(comparison, number, d, times);
    return added && times && add_speed_ups(comparison, number, json_add_array(object, "speed_up"));
}

static bool add_missing(const struct comparison *comparison, struct json *list)
{
    struct compare_missing missing;
    bool added = list;
    for (size_t row = 0; row < comparison->count; row++)
        for (size_t d = 0; d < comparison->device_count; d++) {
            if (!compare_missing(comparison, row, d, &missing))
                continue;
            struct json *object = json_add_object(list, NULL);
            added = added && json_add_string(object, "run", comparison->rows[row].name) &&
                    json_add_bool(object, "stale", missing.stale) &&
                    json_add_string(object, "what", missing.what) &&
                    json_add_string(object, "command", missing.command);
        }
    return added;
}

/* Adds a test of rows `a` and `b` with its figure. */
static bool add_test(const struct comparison *comparison, size_t a, size_t b,
                     const struct compare_test *test, const char *figure, struct json *list)
{
    struct json *object = json_add_object(list, NULL), *runs = json_add_array(object, "runs");
    return json_add_string(runs, NULL, comparison->rows[a].name) &&
           json_add_string(runs, NULL, comparison->rows[b].name) &&
           compare_test_to_json(test, figure, object);
}

/* Adds the tests of the times of a pair of rows, on each device that both were measured on. */
static bool add_time_tests(const struct comparison *comparison, size_t a, size_t b,
                           struct json *list)
{
    bool added = true;
    for (size_t d = 0; d < comparison->device_count; d++) {
        char figure[sizeof comparison->devices[0] + 8];
        const struct compare_test test = compare_test_times(comparison, d, a, b);
        if (test.turns.blocks == 0 &&
            (!compare_time(comparison, a, d) || !compare_time(comparison, b, d)))
            continue;
        snprintf(figure, sizeof figure, "ms %s", comparison->devices[d]);
        added = added && add_test(comparison, a, b, &test, figure, list);
    }
    return added;
}

/* Adds the tests of each pair of rows that are runs. */
static bool add_tests(const struct comparison *comparison, struct json *list)
{
    bool added = list;
    for (size_t a = 0; a < comparison->count; a++)
        for (size_t b = a + 1; b < comparison->count; b++) {
            if (!comparison->rows[a].run || !comparison->rows[b].run)
                continue;
            const struct compare_test test = compare_test_rows(comparison, a, b);
            added = added && add_test(comparison, a, b, &test, "best_top1", list) &&
                    add_time_tests(comparison, a, b, list);
        }
    return added;
}

struct json *compare_to_json(const struct comparison *comparison)
{
    struct json *root = json_new_object();
    struct json *devices = json_add_array(root, "devices");
    bool complete = devices;
    for (size_t d = 0; d < comparison->device_count; d++)
        complete = complete && json_add_string(devices, NULL, comparison->devices[d]);
    struct json *runs = json_add_array(root, "runs");
    for (size_t i = 0; i < comparison->count; i++)
        complete = complete && compare_row_to_json(comparison, i, json_add_object(runs, NULL));
    complete = complete && runs && add_missing(comparison, json_add_array(root, "not_measured"));
    complete = complete && add_tests(comparison, json_add_array(root, "tests"));
    if (comparison->front)
        complete = complete && compare_front_to_json(comparison, comparison->front, root);
    if (complete)
        return root;
    json_free(root);
    return NULL;
}
