/* tinca runs: lists the runs of the folder of runs, oldest first. A run that cannot be read is
 * listed as unreadable with the reason; a folder whose process was killed before the run began is
 * listed as incomplete. With --check the runs are verified instead (runs_check.c). */
#include "cli/runs.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_check.h"

#include "base/language.h"

#include "session/config/config_paths.h"
#include "session/files/run_directory.h"
#include "session/files/run_name.h"
#include "session/record/run_open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct run *runs_open(const char *id, struct error *error)
{
    char *directory = run_directory_find(id, error);
    struct run *run = directory ? run_open(directory, error) : NULL;
    free(directory);
    return run;
}

/* Adds the name that the user gave the run, or null. */
static bool add_name(struct json *object, const struct run *run)
{
    char name[RUN_NAME_SIZE];
    run_name_read(run_facts(run)->directory, name);
    return name[0] ? json_add_string(object, "name", name) : json_add_null(object, "name");
}

/* Adds everything about a run that can be read. */
static bool add_readable(struct json *object, const struct run *run)
{
    const struct run_config *config = run_config(run);
    const struct run_facts *facts = run_facts(run);
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    return add_name(object, run) &&
           json_add_string(object, "status", run_status_name(snapshot.status)) &&
           json_add_string(object, "network", facts->network) &&
           json_add_string(object, "technique", facts->technique) &&
           json_add_string(object, "data", config->data) &&
           (config->batch ? json_add_count(object, "batch", config->batch)
                          : json_add_null(object, "batch")) &&
           json_add_string(object, "device", config->device) &&
           json_add_string(object, "created", facts->created) &&
           (facts->imported[0] ? json_add_string(object, "imported", facts->imported)
                               : json_add_null(object, "imported")) &&
           json_add_string(object, "host", facts->host) &&
           json_add_string(object, "directory", facts->directory) &&
           json_add_count(object, "iteration", snapshot.iteration) &&
           json_add_count(object, "iterations", snapshot.iterations) &&
           (snapshot.iteration ? json_add_float(object, "loss", snapshot.loss)
                               : json_add_null(object, "loss")) &&
           json_add_number(object, "joules_per_image", run_snapshot_joules_per_image(&snapshot)) &&
           json_add_number(object, "watts", run_snapshot_watts(&snapshot)) &&
           (snapshot.has_validation ? json_add_number(object, "top1", snapshot.top1)
                                    : json_add_null(object, "top1"));
}

static bool add_json(struct json *list, const char *id)
{
    struct error error;
    char text[1200];
    struct run *run = runs_open(id, &error);
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "id", id);
    if (run)
        added = added && add_readable(object, run);
    else
        added = added && json_add_string(object, "status", "unreadable") &&
                json_add_string(object, "error", error_format(&error, text, sizeof text));
    run_free(run);
    return added;
}

/* Appends what the run computes; for an imported run also its framework and its machine. */
static void add_what(struct table *table, const struct run *run)
{
    char batch[24] = "?", data[512];
    const struct run_facts *facts = run_facts(run);
    const struct run_config *config = run_config(run);
    if (config->batch)
        snprintf(batch, sizeof batch, "%zu", config->batch);
    if (!facts->imported[0])
        table_cell(table, _("%s batch %s on %s, %s"), facts->network, batch, config->device,
                   config_short_value("data", config->data, data, sizeof data));
    else
        table_cell(table, _("%s batch %s on %s, imported from %s (%s)"), facts->network, batch,
                   config->device, facts->imported, facts->host[0] ? facts->host : "?");
}

static void add_row(struct table *table, const char *id)
{
    struct error error;
    struct run_snapshot snapshot;
    char name[RUN_NAME_SIZE] = "";
    struct run *run = runs_open(id, &error);
    if (run)
        run_name_read(run_facts(run)->directory, name);
    table_cell(table, "%s", id);
    table_cell(table, "%s", name[0] ? name : "-");
    if (!run) {
        table_cell(table, "%s", _("unreadable"));
        for (size_t i = 3; i + 1 < table->columns; i++)
            table_cell(table, "-");
        table_cell(table, "%s", error.why);
        return;
    }
    run_snapshot(run, &snapshot);
    table_cell(table, "%s", gettext(run_status_name(snapshot.status)));
    table_cell(table, "%llu/%llu", (unsigned long long)snapshot.iteration,
               (unsigned long long)snapshot.iterations);
    const bool loss_known = !run_facts(run)->imported[0] || !isnan(snapshot.loss);
    if (snapshot.iteration && loss_known)
        table_cell(table, "%.4g", (double)snapshot.loss);
    else
        table_cell(table, "-");
    if (snapshot.has_validation && !isnan(snapshot.top1))
        table_cell(table, "%.2f %%", snapshot.top1);
    else
        table_cell(table, "-");
    add_what(table, run);
    run_free(run);
}

/* The IDs of the runs, and of folders in which no run began. */
struct listing {
    char **ids, **incomplete;
    size_t count, incomplete_count;
};

static void free_ids(char **ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
}

/* Appends the row of a folder in which no run began. */
static void add_incomplete_row(struct table *table, const char *id)
{
    table_cell(table, "%s", id);
    table_cell(table, "-");
    table_cell(table, "%s", _("incomplete"));
    for (size_t i = 3; i + 1 < table->columns; i++)
        table_cell(table, "-");
    table_cell(table, "%s", _("killed before it began; the next run deletes the folder"));
}

static bool add_incomplete_json(struct json *list, const char *id)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "id", id) && json_add_string(object, "status", "incomplete");
}

static int print_json(const struct listing *listing)
{
    struct json *root = json_new_object(), *list = json_add_array(root, "runs");
    bool complete = list;
    for (size_t i = 0; i < listing->count; i++)
        complete = complete && add_json(list, listing->ids[i]);
    for (size_t i = 0; i < listing->incomplete_count; i++)
        complete = complete && add_incomplete_json(list, listing->incomplete[i]);
    return output_json(root, complete);
}

static int print_table(const struct listing *listing)
{
    struct table table = table_begin("lllrrrl", _("RUN|NAME|STATUS|ITERATION|LOSS|TOP-1|WHAT"));
    if (listing->count + listing->incomplete_count == 0) {
        table_free(&table);
        output_print(_("There are no runs yet: tinca train makes one.\n"));
        return EXIT_DONE;
    }
    for (size_t i = 0; i < listing->count; i++)
        add_row(&table, listing->ids[i]);
    for (size_t i = 0; i < listing->incomplete_count; i++)
        add_incomplete_row(&table, listing->incomplete[i]);
    return table_print(&table);
}

static int runs_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct listing listing = {0};
    bool as_json = false, check = false;
    int status;
    const struct option_row rows[] = {
        {.name = "check",
         .help = N_("Verify the run's files, or those of all runs, and change nothing."),
         .kind = OPTION_SWITCH,
         .value = &check},
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows, .operands_max = 1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (check)
        return runs_check(operands.count ? operands.values[0] : NULL, as_json);
    if (operands.count) {
        error_set(&error, ERROR_USAGE, operands.values[0], "tinca runs --check RUN verifies one",
                  "all runs are listed, not one");
        return output_error(&error);
    }
    if (!run_directory_list(&listing.ids, &listing.count, &error) ||
        !run_directory_list_incomplete(&listing.incomplete, &listing.incomplete_count, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(&listing) : print_table(&listing);
    free_ids(listing.ids, listing.count);
    free_ids(listing.incomplete, listing.incomplete_count);
    return status;
}

const struct command command_runs = {
    .name = "runs",
    .operands = "[RUN]",
    .summary = N_("List all runs, oldest first, or verify their files."),
    .details = N_(
        "Each run is a folder of $XDG_STATE_HOME/tinca/runs (~/.local/state by default); delete "
        "the folder to delete the run. NAME is the name that the run was given in the workbench; "
        "commands accept it in place of the ID.\n--check verifies RUN, or all runs, and prints a "
        "line for each problem, with what can be done. Checksums show whether models, checkpoints "
        "and the journal are as they were written. The exit status is 1 if something is damaged."),
    .run = runs_run,
};
