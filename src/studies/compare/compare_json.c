/* Writes the comparison as JSON, in full precision, with null for values that were not measured. */
#include "runs/settings/settings.h"
#include "studies/compare/compare_figures.h"
#include "studies/compare/compare_significance.h"
#include "studies/compare/pareto.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    return json_add_string(object, "device", time->on.device) &&
           json_add_number(object, "median", ms->median) &&
           json_add_number(object, "min", ms->min) && json_add_number(object, "mean", ms->mean) &&
           json_add_number(object, "sd", ms->sd) && json_add_number(object, "ci95", ms->ci95) &&
           add_count_or_null(object, "images", time->images) &&
           add_count_or_null(object, "threads", time->on.threads) &&
           json_add_string(object, "host", time->on.host) &&
           json_add_string(object, "cpu", time->on.cpu) &&
           (comparison->rows[row].run
                ? json_add_string(object, "precision", compare_precision(time))
                : json_add_null(object, "precision")) &&
           add_count_or_null(object, "memory_bytes", time->memory_bytes) &&
           json_add_number(object, "joules_per_image", time->joules_per_image) &&
           json_add_number(object, "watts", time->watts) &&
           (!time->energy_unknown[0] ||
            json_add_string(object, "energy_unknown", time->energy_unknown)) &&
           json_add_bool(object, "in_turns", time->in_turns) &&
           (!compare_all_pairs(comparison) || add_related(comparison, row, device, object));
}

/* Adds the ratio of the times of each pair of devices once, that with the shorter time first. They
 * were measured at different times, so that there is no verdict. */
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
                    json_add_number(object, "factor", factor) && json_add_null(object, "verdict");
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
        added = json_add_string(seeds, "group", record_settings(run_config(row->run)).seed_group) &&
                list;
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
                 json_add_string(object, "accuracy", row->accuracy);
    for (size_t f = 0; f < COMPARE_FILE_FIGURES; f++)
        added = added && figure_to_json(compare_file_figures[f], &row->figures, object);
    added = added && add_spread(row, object) && add_settings(comparison, number, object);
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

/* --- the document: lists that grow with the number of rows or pairs are written item by item ---
 */

/* Appends a value, which it frees, as one line of a list; nothing if `value` is an empty list. */
static void append_items(struct text *text, struct json *value, bool complete, bool *first)
{
    char *printed = complete ? json_print_utf8(value, false, NULL) : NULL;
    const size_t length = printed ? strlen(printed) : 0;
    text->failed |= !printed;
    if (length > 2) { /* without the brackets of the list */
        text_append(text, *first ? "\n\t\t" : ",\n\t\t");
        text_append_bytes(text, printed + 1, length - 2);
        *first = false;
    }
    free(printed);
    json_free(value);
}

static void append_rows(const struct comparison *comparison, struct text *text, FILE *stream)
{
    bool first = true;
    for (size_t i = 0; i < comparison->count; i++) {
        struct json *list = json_new_array();
        const bool added = compare_row_to_json(comparison, i, json_add_object(list, NULL));
        append_items(text, list, added, &first);
        text_drain(text, stream);
    }
}

/* Appends the tests of each pair of rows that are runs. */
static void append_tests(const struct comparison *comparison, struct text *text, FILE *stream)
{
    bool first = true;
    for (size_t a = 0; a < comparison->count; a++)
        for (size_t b = a + 1; b < comparison->count; b++) {
            if (!comparison->rows[a].run || !comparison->rows[b].run)
                continue;
            struct json *list = json_new_array();
            const struct compare_test test = compare_test_rows(comparison, a, b);
            const bool added = add_test(comparison, a, b, &test, "best_top1", list) &&
                               add_time_tests(comparison, a, b, list);
            append_items(text, list, added, &first);
            text_drain(text, stream);
        }
}

/* Returns what does not belong to single rows or pairs; NULL if memory runs out. */
static struct json *make_head(const struct comparison *comparison)
{
    struct json *root = json_new_object();
    struct json *devices = json_add_array(root, "devices");
    bool complete = devices;
    for (size_t d = 0; d < comparison->device_count; d++)
        complete = complete && json_add_string(devices, NULL, comparison->devices[d]);
    complete = complete && add_missing(comparison, json_add_array(root, "not_measured"));
    if (comparison->front)
        complete = complete && compare_front_to_json(comparison, comparison->front, root);
    if (complete)
        return root;
    json_free(root);
    return NULL;
}

void compare_write_json(const struct comparison *comparison, struct text *text, FILE *stream)
{
    struct json *head = make_head(comparison);
    char *printed = head ? json_print_utf8(head, true, NULL) : NULL, *end;
    json_free(head);
    if (!printed) {
        text->failed = true;
        return;
    }
    end = strrchr(printed, '\n'); /* before the last brace */
    text_append_bytes(text, printed, (size_t)(end - printed));
    free(printed);
    text_append(text, ",\n\t\"runs\":\t[");
    append_rows(comparison, text, stream);
    if (compare_all_pairs(comparison)) {
        text_append(text, "],\n\t\"tests\":\t[");
        append_tests(comparison, text, stream);
    }
    text_append(text, "]\n}\n");
    text_drain(text, stream);
}
