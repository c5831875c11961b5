/* tinca find-rate: trains briefly while the learning rate grows, and suggests one. */
#include "training/find_rate.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/settings/settings.h"

#include <stdio.h>

enum { ROWS = 20 }; /* of the table: evenly over the points */

static bool add_points(struct json *root, const struct rate_search *search)
{
    struct json *points = json_add_array(root, "points");
    bool added = points;
    for (size_t i = 0; added && i < search->count; i++) {
        struct json *point = json_add_object(points, NULL);
        added = json_add_number(point, "rate", search->points[i].rate) &&
                json_add_number(point, "loss", search->points[i].loss) &&
                json_add_number(point, "smoothed", search->points[i].smoothed);
    }
    return added;
}

static bool add_range(struct json *root, const struct rate_search *search)
{
    struct json *range = json_add_array(root, "range");
    return json_add_number(range, NULL, search->points[search->suggestion.lowest].rate) &&
           json_add_number(range, NULL, search->points[search->suggestion.highest].rate);
}

static int print_json(const struct rate_search *search)
{
    struct json *root = json_new_object();
    const struct rate_suggestion *suggestion = &search->suggestion;
    const struct rate_point *points = search->points;
    return output_json(
        root, json_add_string(root, "network", network_settings(&search->config).network) &&
                  json_add_number(root, "low", search->low) &&
                  json_add_number(root, "high", search->high) &&
                  json_add_count(root, "iterations", search->count) &&
                  json_add_bool(root, "diverged", search->diverged) &&
                  (suggestion->found
                       ? json_add_number(root, "suggestion", points[suggestion->point].rate) &&
                             add_range(root, search)
                       : json_add_null(root, "suggestion") && json_add_null(root, "range") &&
                             json_add_string(root, "reason", suggestion->reason)) &&
                  add_points(root, search));
}

static void add_row(struct table *table, const struct rate_search *search, size_t i)
{
    const struct rate_point *point = &search->points[i];
    table_cell(table, "%.3g", point->rate);
    table_cell(table, "%.4f", point->loss);
    table_cell(table, "%.4f", point->smoothed);
    table_cell(table, "%s",
               search->suggestion.found && i == search->suggestion.point ? _("steepest") : "");
}

static int print_table(const struct rate_search *search)
{
    struct table table = table_begin("rrrl", _("RATE|LOSS|SMOOTHED|SLOPE"));
    const size_t every = search->count > ROWS ? (search->count + ROWS - 1) / ROWS : 1;
    for (size_t i = 0; i < search->count; i++)
        if (i % every == 0 || (search->suggestion.found && i == search->suggestion.point) ||
            i + 1 == search->count)
            add_row(&table, search, i);
    const int status = output_table(&table);
    output_print("\n");
    if (search->diverged)
        output_print(_("The loss grew without limit at a rate of %.3g; higher ones were not "
                       "tried.\n"),
                     search->count ? search->points[search->count - 1].rate : search->low);
    const struct rate_suggestion *suggestion = &search->suggestion;
    const struct rate_point *points = search->points;
    if (suggestion->found)
        output_print(_("Suggestion: --lr %.3g, where the loss falls the steepest; range %.3g to "
                       "%.3g, where it falls at least half as steeply.\n"),
                     points[suggestion->point].rate, points[suggestion->lowest].rate,
                     points[suggestion->highest].rate);
    else
        output_print(_("No suggestion: %s.\n"), suggestion->reason);
    return status;
}

static bool go_on(void *context, uint64_t done, uint64_t total, struct error *error)
{
    (void)context;
    (void)done;
    (void)total;
    return !stop_signal_came() ||
           error_set(error, ERROR_INTERRUPTED, "the search", NULL, "it was interrupted");
}

static bool read_rate(const char *text, const char *option, double *rate, struct error *error)
{
    return !text || text_to_double(text, rate) ||
           error_set(error, ERROR_USAGE, option, "give a rate, as 1e-6", "\"%s\" is no number",
                     text);
}

static int find(struct rate_search *search, const char *low, const char *high, bool as_json)
{
    struct error error;
    if (!read_rate(low, "--low", &search->low, &error) ||
        !read_rate(high, "--high", &search->high, &error))
        return output_error(&error);
    stop_signal_catch();
    if (!rate_search_run(search, go_on, NULL, &error))
        return output_error(&error);
    const int status = as_json ? print_json(search) : print_table(search);
    rate_search_free(search);
    return status;
}

static int find_rate_run(const struct command *command, int argc, char **argv)
{
    int status;
    struct operands operands;
    const char *low = NULL, *high = NULL;
    bool as_json = false;
    struct rate_search search = {
        .low = FIND_RATE_LOW, .high = FIND_RATE_HIGH, .iterations = FIND_RATE_ITERATIONS};
    const struct option_row rows[] = {
        TEXT_ROW("low", "X", N_("The first rate; without it 1e-6."), &low),
        TEXT_ROW("high", "X", N_("The last rate; without it 10."), &high),
        COUNT_ROW("iterations", "N", N_("The number of rates: one for each iteration."),
                  &search.iterations, FIND_RATE_LEAST, FIND_RATE_MOST),
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &search.config,
                                   .task = TASK_FIND_RATE,
                                   .operands_min = 1,
                                   .operands_max = 1,
                                   .network_operand = true,
                                   .data_divides = true};
    config_defaults(&search.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    return find(&search, low, high, as_json);
}

const struct command command_find_rate = {
    .name = "find-rate",
    .operands = "NETWORK",
    .summary = N_("Look for a learning rate: train briefly while it grows."),
    .details = N_("The rate grows from --low to --high in equal factors (Smith 2017). The "
                  "suggestion is the rate at which the loss falls the steepest, by the line "
                  "through at least 21 losses whose slope is five times its standard error; it "
                  "comes with a range. Where no slope is so clear, or the loss falls from --low "
                  "on or up to --high, there is none, and the reason says which option to give. "
                  "The training stops when the smoothed loss is four times its least value. "
                  "No run is saved."),
    .run = find_rate_run,
};
