/* tinca sweep: a grid of runs, worked off cell by cell. What it computes it leaves in the sweep's
 * folder and among the runs, so that the same command again goes on where this one ended. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/sweep_jobs.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "session/export/export.h"
#include "session/record/run_open.h"
#include "session/sweep/sweep_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sweep_format { FORMAT_TEXT, FORMAT_MARKDOWN };
static const char *const format_names[] = {"text", "markdown", NULL};
static const char *const grid_names[] = {"overfit", "cifar", NULL};

enum { KEPT_LOOKED_AT = 100 };

struct request {
    struct run_config config; /* the base, as far as options say */
    const char *file;
    const char *networks, *techniques, *batches, *devices, *grid, *name, *cell;
    struct option_list vary;
    const char *csv, *target;
    size_t jobs, cores, format;
    bool dry_run, report, due, as_json, retry, quiet, list;
};

/* --- the grid --- */

static bool vary(struct sweep_grid *grid, const char *key, const char *values, struct error *error)
{
    if (!values)
        return true;
    sweep_grid_clear(grid, key); /* an option replaces what the file says */
    return sweep_grid_vary(grid, key, values, error);
}

/* Options that were given change the base of a file. */
static bool set_base(struct sweep_grid *grid, const struct run_config *config, struct error *error)
{
    char value[1024];
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        bool preset = strcmp(key, "preset") == 0 && config->preset[0];
        if (!preset && !config_is_given(config, key))
            continue;
        sweep_grid_clear(grid, key);
        if (!config_set(&grid->base, key, config_get(config, key, value, sizeof value), error))
            return false;
    }
    return true;
}

static bool make_grid(const struct request *request, struct sweep_grid *grid, struct error *error)
{
    if (request->file && !sweep_grid_read(grid, request->file, error))
        return false;
    if (request->name)
        snprintf(grid->name, sizeof grid->name, "%s", request->name);
    bool made = set_base(grid, &request->config, error) &&
                vary(grid, "networks", request->networks, error) &&
                vary(grid, "techniques", request->techniques, error) &&
                vary(grid, "batches", request->batches, error) &&
                vary(grid, "devices", request->devices, error);
    for (size_t i = 0; made && i < request->vary.count; i++)
        made = sweep_grid_vary_setting(grid, request->vary.values[i], error);
    return made && (!request->grid || sweep_grid_apply(grid, request->grid, error));
}

static bool check_grid(const struct request *request, const struct sweep_grid *grid,
                       struct error *error)
{
    bool preset = grid->base.preset[0];
    if (!sweep_grid_axis(grid, "network") && !preset)
        return error_set(error, ERROR_USAGE, "sweep", _("give FILE.json, --networks or --grid"),
                         _("no network was named"));
    if (!request->file && !preset && !config_is_given(&grid->base, "data") &&
        !sweep_grid_axis(grid, "data"))
        return error_set(error, ERROR_USAGE, "--data",
                         _("give --data SPEC; tinca datasets lists them"),
                         _("no data set was named"));
    return true;
}

/* An earlier sweep is one that is named and described by nothing else. */
static bool is_earlier(const struct request *request)
{
    return request->name && !request->file && !request->networks && !request->grid;
}

static bool make_sweep(const struct request *request, struct sweep *sweep, struct error *error)
{
    struct sweep_grid grid;
    if (is_earlier(request)) {
        if (!sweep_open(sweep, request->name, error))
            return false;
        for (size_t i = 0; i < sweep->count; i++)
            if (config_is_given(&request->config, "threads") &&
                !sweep_grid_varies(&sweep->grid, "threads"))
                sweep->cells[i].config.threads = request->config.threads;
        return true;
    }
    sweep_grid_begin(&grid);
    bool made = make_grid(request, &grid, error) && check_grid(request, &grid, error) &&
                sweep_create(sweep, &grid, error) && sweep_find(sweep, error);
    sweep_grid_free(&grid);
    return made;
}

/* --- what is known of it --- */

/* Cores are divided among the jobs, unless somebody said how many threads. */
static size_t threads_each(const struct request *request, size_t asked)
{
    struct host host;
    size_t cores = request->cores;
    if (asked || (request->jobs == 1 && !cores))
        return asked;
    host_describe(&host);
    cores = cores ? cores : host.cores;
    return cores > request->jobs ? cores / request->jobs : 1;
}

/* A cell that failed waits again only when that was asked for. */
static void look(struct sweep *sweep, const struct request *request,
                 struct sweep_estimate *estimate)
{
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_cell *cell = &sweep->cells[i];
        cell->config.threads = threads_each(request, cell->config.threads);
        sweep_refresh(sweep, i);
        if (request->retry && cell->state == SWEEP_FAILED) {
            cell->state = SWEEP_WAITING;
            cell->reason = (struct error){0};
        }
        sweep_forecast(sweep, i, request->jobs);
        sweep_read_result(sweep, i);
        sweep_estimate_add_cell(estimate, cell, NULL);
    }
    sweep_estimate_add_runs(estimate, KEPT_LOOKED_AT, NULL);
}

/* Whether some machine may compute it: what has no room here, or no device, may have it there. */
static bool may_be_computed(const struct sweep *sweep, size_t index)
{
    const struct sweep_cell *cell = &sweep->cells[index];
    return sweep_is_due(sweep, index) || cell->state == SWEEP_CANNOT_FIT ||
           (cell->state == SWEEP_SKIPPED && cell->reason.kind == ERROR_UNSUPPORTED &&
            strcmp(cell->reason.what, cell->config.device) == 0);
}

/* When nothing of it can work, the request itself is wrong; unless it is meant for other machines.
 */
static bool check_some(const struct sweep *sweep, bool elsewhere, struct error *error)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->cells[i].state != SWEEP_SKIPPED || (elsewhere && may_be_computed(sweep, i)))
            return true;
    *error = sweep->cells[0].reason;
    error->kind = ERROR_USAGE;
    return false;
}

/* --- output --- */

static void write_cells(const struct sweep *sweep, const struct sweep_estimate *estimate,
                        struct table *table)
{
    char text[32];
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        bool ahead = sweep_is_due(sweep, i) || cell->state == SWEEP_RUNNING;
        double seconds = ahead ? sweep_estimate_cell(estimate, cell) : -1;
        table_cell(table, "%zu", i + 1);
        table_cell(table, "%s", cell->id);
        table_cell(table, "%s", sweep_state_words(cell->state));
        table_cell(table, "%s",
                   cell->forecast_known ? text_bytes(cell->memory_needed, text, sizeof text) : "-");
        table_cell(table, "%s", seconds < 0 ? "-" : text_duration(seconds, text, sizeof text));
        table_cell(table, "%s", cell->reason.why);
    }
}

static int print_cells(const struct sweep *sweep, const struct sweep_estimate *estimate,
                       size_t jobs)
{
    char text[160];
    struct table table = table_begin("rllrrl", _("#|CELL|STATE|MEMORY|ESTIMATE|WHY"));
    write_cells(sweep, estimate, &table);
    int status = table_print(&table);
    struct sweep_time time = sweep_estimate_left(estimate, sweep);
    output_print(_("\n%s: %zu cells. Memory is forecast; time left (estimate): %s.\n"),
                 sweep->grid.name, sweep->count, sweep_time_text(&time, jobs, text, sizeof text));
    return status;
}

static bool open_runs(const struct sweep *sweep, struct run **runs, size_t *count,
                      struct error *error)
{
    bool opened = true;
    *count = 0;
    for (size_t i = 0; opened && i < sweep->count; i++) {
        if (!sweep_is_computed(&sweep->cells[i]))
            continue;
        char *directory = sweep_run_directory(&sweep->cells[i], error);
        opened = directory && (runs[*count] = run_open(directory, error));
        *count += opened;
        free(directory);
    }
    return opened;
}

static bool write_csv(const struct sweep *sweep, const char *folder, struct error *error)
{
    size_t count = 0;
    struct run **runs = memory_new(sweep->count, sizeof *runs, "the list of runs", error);
    bool written =
        runs && open_runs(sweep, runs, &count, error) && export_csv(runs, count, folder, error);
    for (size_t i = 0; runs && i < count; i++)
        run_free(runs[i]);
    free(runs);
    return written;
}

static bool write_tables(const struct sweep *sweep, const struct request *request,
                         struct error *error)
{
    struct text text = {0};
    sweep_write_tables(sweep, request->format == FORMAT_MARKDOWN, &text);
    bool written = !text.failed || error_set_memory(error, "the tables", 0);
    if (written && text.data)
        written = output_file_write(request->target ? request->target : "-", text.data, text.length,
                                    OUTPUT_TEXT, error);
    text_free(&text);
    return written;
}

static bool write_json(const struct sweep *sweep, const struct sweep_estimate *estimate,
                       const char *target, struct error *error)
{
    struct text text = {0};
    struct json *root = sweep_to_json(sweep, estimate);
    char *document = root ? json_print_utf8(root, true, error) : NULL;
    if (document)
        text_append(&text, "%s\n", document);
    bool written = document && !text.failed
                       ? output_file_write(target, text.data, text.length, OUTPUT_TEXT, error)
                       : error_set_memory(error, "the JSON document", 0);
    text_free(&text);
    free(document);
    json_free(root);
    return written;
}

static int report(const struct sweep *sweep, const struct sweep_estimate *estimate,
                  const struct request *request)
{
    struct error error;
    if (request->csv && !write_csv(sweep, request->csv, &error))
        return output_error(&error);
    if (request->as_json)
        return write_json(sweep, estimate, request->target ? request->target : "-", &error)
                   ? EXIT_DONE
                   : output_error(&error);
    if (request->dry_run)
        return print_cells(sweep, estimate, request->jobs);
    return (request->quiet && !request->target && !request->report) ||
                   write_tables(sweep, request, &error)
               ? EXIT_DONE
               : output_error(&error);
}

/* --- what is left to do, for job arrays --- */

/* "1,3-6,9": numbers of cells as sbatch --array takes them. */
static int print_due(const struct sweep *sweep)
{
    bool any = false;
    for (size_t first = 0, last; first < sweep->count; first = last + 1) {
        last = first;
        if (!may_be_computed(sweep, first))
            continue;
        while (last + 1 < sweep->count && may_be_computed(sweep, last + 1))
            last++;
        output_print("%s%zu", any ? "," : "", first + 1);
        if (last > first)
            output_print("-%zu", last + 1);
        any = true;
    }
    if (any)
        output_print("\n");
    return EXIT_DONE;
}

/* --- the list of sweeps --- */

static void add_sweep(struct table *table, const char *name)
{
    struct sweep sweep;
    struct error error;
    size_t counts[SWEEP_STATES];
    table_cell(table, "%s", name);
    if (!sweep_open(&sweep, name, &error)) {
        for (size_t i = 0; i < 4; i++)
            table_cell(table, "-");
        table_cell(table, "%s", error.why);
        return;
    }
    for (size_t i = 0; i < sweep.count; i++)
        sweep_refresh(&sweep, i);
    sweep_count(&sweep, counts);
    table_cell(table, "%zu", sweep.count);
    table_cell(table, "%zu", counts[SWEEP_DONE]);
    table_cell(table, "%zu", counts[SWEEP_DIVERGED]);
    table_cell(table, "%zu", counts[SWEEP_FAILED]);
    table_cell(table, "%s", counts[SWEEP_RUNNING] ? sweep_state_words(SWEEP_RUNNING) : "");
    sweep_free(&sweep);
}

static int list_sweeps(void)
{
    struct error error;
    char **names;
    size_t count;
    if (!sweep_list(&names, &count, &error))
        return output_error(&error);
    struct table table = table_begin("lrrrrl", _("SWEEP|CELLS|DONE|DIVERGED|FAILED|NOW"));
    for (size_t i = 0; i < count; i++) {
        add_sweep(&table, names[i]);
        free(names[i]);
    }
    free(names);
    if (count > 0)
        return table_print(&table);
    table_free(&table);
    output_print("%s\n", _("There are no sweeps yet: tinca sweep --networks ... makes one."));
    return EXIT_DONE;
}

/* --- working --- */

/* Whether a run of the cell was refused for want of memory: as the cell was looked at, by the
 * forecast it fits now, or still does not. */
static bool was_refused(const struct sweep_cell *cell)
{
    return cell->run[0] && (cell->state == SWEEP_WAITING || cell->state == SWEEP_CANNOT_FIT);
}

/* What failed is begun anew only when that was asked for, what did not fit always: another time
 * there may be more room. */
static bool forget_failures(struct sweep *sweep, const struct request *request, struct error *error)
{
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        bool fits = cell->state != SWEEP_CANNOT_FIT;
        if (!request->retry && !was_refused(cell))
            continue;
        sweep_refresh(sweep, i);
        if ((cell->state == SWEEP_FAILED || cell->state == SWEEP_CANNOT_FIT) &&
            !sweep_reset_cell(sweep, i, error))
            return false;
        if (!fits || sweep_is_due(sweep, i))
            sweep_forecast(sweep, i, request->jobs);
    }
    return true;
}

/* What other processes made meanwhile of the cells that they were at. */
static void look_elsewhere(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        if (sweep->cells[i].state == SWEEP_RUNNING)
            sweep_refresh(sweep, i);
        sweep_read_result(sweep, i);
    }
}

/* What failed, and why: the exit status alone does not tell. */
static void say_failures(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        struct error error;
        if (cell->state != SWEEP_FAILED)
            continue;
        error_set(&error, cell->reason.kind, cell->id, cell->reason.advice, "%s",
                  cell->reason.kind != ERROR_NONE ? cell->reason.why
                                                  : _("the run failed; tinca runs lists it"));
        output_error(&error);
    }
}

static int work_off(struct sweep *sweep, struct sweep_estimate *estimate,
                    const struct request *request)
{
    struct error error;
    size_t counts[SWEEP_STATES];
    const struct sweep_jobs jobs = {request->jobs, request->quiet};
    if (!sweep_save(sweep, &error) || !forget_failures(sweep, request, &error))
        return output_error(&error);
    int worked = sweep_jobs_run(sweep, estimate, &jobs);
    look_elsewhere(sweep);
    sweep_count(sweep, counts);
    if (!request->quiet && counts[SWEEP_RUNNING] > 0)
        output_note("%s\n", _("Another process is still at some of the cells."));
    int status = report(sweep, estimate, request);
    if (status != EXIT_DONE)
        return status;
    if (request->quiet)
        say_failures(sweep);
    return worked != EXIT_DONE ? worked : counts[SWEEP_FAILED] ? EXIT_FAILED : EXIT_DONE;
}

static int run_one(struct sweep *sweep, const struct request *request)
{
    struct error error;
    size_t index = sweep_cell_find(sweep, request->cell);
    if (index == sweep->count) {
        error_set(&error, ERROR_USAGE, request->cell, _("tinca sweep --dry-run lists them"),
                  _("the sweep has no such cell"));
        return output_error(&error);
    }
    sweep_refresh(sweep, index);
    if (!is_earlier(request) && !sweep_save(sweep, &error))
        return output_error(&error);
    if (request->retry && sweep->cells[index].state == SWEEP_FAILED &&
        !sweep_reset_cell(sweep, index, &error))
        return output_error(&error);
    sweep->cells[index].config.threads = threads_each(request, sweep->cells[index].config.threads);
    sweep_forecast(sweep, index, 1);
    if (sweep_is_due(sweep, index))
        return sweep_jobs_run_cell(sweep, index, request->quiet);
    if (!request->quiet)
        output_note("%s: %s\n", sweep->cells[index].id,
                    sweep_state_words(sweep->cells[index].state));
    return sweep->cells[index].state == SWEEP_FAILED ? EXIT_FAILED : EXIT_DONE;
}

static int sweep_all(struct sweep *sweep, const struct request *request)
{
    struct error error;
    struct sweep_estimate estimate = {0};
    int status;
    if (request->cell)
        return run_one(sweep, request);
    look(sweep, request, &estimate);
    if (!check_some(sweep, request->due, &error))
        status = output_error(&error);
    else if (request->due)
        status = print_due(sweep);
    else
        status = request->dry_run || request->report ? report(sweep, &estimate, request)
                                                     : work_off(sweep, &estimate, request);
    sweep_estimate_free(&estimate);
    return status;
}

/* --- the command line --- */

/* Whether something but the CSV tables goes to standard output. */
static bool uses_stdout(const struct request *request)
{
    if (request->target)
        return output_file_is_stdout(request->target) || (request->dry_run && !request->as_json);
    return request->as_json || request->dry_run || request->report || !request->quiet;
}

/* What is written at the end must not turn out impossible after hours. */
static bool check_targets(const struct request *request, struct error *error)
{
    const char *csv = request->csv;
    if (request->target && !output_file_check(request->target, OUTPUT_TEXT, error))
        return false;
    if (csv && output_file_is_stdout(csv) && uses_stdout(request))
        return error_set(error, ERROR_USAGE, "--csv", _("name a folder, or give -o FILE"),
                         _("the tables go to standard output already"));
    return !csv || output_file_is_stream(csv) || file_make_directories(csv, error);
}

static int run_request(const struct request *request)
{
    struct error error;
    struct sweep sweep = {0};
    if (request->list)
        return list_sweeps();
    if (!check_targets(request, &error))
        return output_error(&error);
    int status =
        make_sweep(request, &sweep, &error) ? sweep_all(&sweep, request) : output_error(&error);
    sweep_free(&sweep);
    return status;
}

/* Options that fields have, but for those that are lists here. */
static const char **offered_fields(void)
{
    static const char *keys[64];
    size_t count = 0;
    for (size_t i = 0; i < config_field_count && count + 1 < sizeof keys / sizeof *keys; i++) {
        const char *key = config_fields[i].key;
        if (strcmp(key, "technique") != 0 && strcmp(key, "batch") != 0 &&
            strcmp(key, "device") != 0)
            keys[count++] = key;
    }
    keys[count] = NULL;
    return keys;
}

static int sweep_run(const struct command *command, int argc, char **argv)
{
    struct request request = {.jobs = 1};
    struct operands operands;
    int status;
    const struct option_row rows[] = {
        {"networks", 0, "LIST", _("Networks, with commas between them."), OPTION_TEXT,
         &request.networks, 0, 0, NULL},
        {"techniques", 0, "LIST", _("Techniques: none, dsc, shuffle, shift."), OPTION_TEXT,
         &request.techniques, 0, 0, NULL},
        {"batches", 0, "LIST", _("Batch sizes; 1..512 stands for the powers of two from 1 to 512."),
         OPTION_TEXT, &request.batches, 0, 0, NULL},
        {"devices", 0, "LIST", _("Devices: cpu, reference, cuda:0; cuda:0,1 is one, of two cards."),
         OPTION_TEXT, &request.devices, 0, 0, NULL},
        {"vary", 0, "KEY=LIST",
         _("Any other option as a list: --vary lr=0.1,0.01, --vary seed=1..5. May be given several "
           "times."),
         OPTION_LIST, &request.vary, 0, 0, NULL},
        {"grid", 0, "NAME", _("A study's grid, where nothing else is said."), OPTION_NAME,
         &request.grid, 0, 0, grid_names},
        {"name", 0, "NAME", _("What the sweep is called; alone: an earlier sweep, which goes on."),
         OPTION_TEXT, &request.name, 0, 0, NULL},
        {"cell", 0, "CELL", _("Compute only this cell: its number or its name, of --dry-run."),
         OPTION_TEXT, &request.cell, 0, 0, NULL},
        {"jobs", 'j', "N", _("Runs at a time; the cores are divided among them."), OPTION_COUNT,
         &request.jobs, 1, 64, NULL},
        {"cores", 0, "N", _("Divide N cores among the jobs instead of all that there are."),
         OPTION_COUNT, &request.cores, 1, 4096, NULL},
        {"retry", 0, NULL, _("Try the cells that failed once more."), OPTION_SWITCH, &request.retry,
         0, 0, NULL},
        {"dry-run", 'n', NULL, _("Only list the cells, their memory and the estimated time."),
         OPTION_SWITCH, &request.dry_run, 0, 0, NULL},
        {"due", 0, NULL,
         _("Only print the numbers of the cells that are left to do, as sbatch --array takes "
           "them."),
         OPTION_SWITCH, &request.due, 0, 0, NULL},
        {"report", 0, NULL, _("Compute nothing: write the tables of what is there."), OPTION_SWITCH,
         &request.report, 0, 0, NULL},
        {"list", 0, NULL, _("List the sweeps that are kept."), OPTION_SWITCH, &request.list, 0, 0,
         NULL},
        {"format", 0, "NAME", _("How the tables are written."), OPTION_CHOICE, &request.format, 0,
         0, format_names},
        {"output", 'o', "FILE",
         _("Write the tables to FILE instead of standard output, which is also -."), OPTION_TEXT,
         &request.target, 0, 0, NULL},
        {"csv", 0, "DIR", _("Write the studies' two CSV files into DIR as well."), OPTION_TEXT,
         &request.csv, 0, 0, NULL},
        OUTPUT_JSON_OPTION(&request.as_json),
        {"quiet", 'q', NULL, _("Say nothing but errors."), OPTION_SWITCH, &request.quiet, 0, 0,
         NULL},
        {0}};
    const struct option_set set = {
        .rows = rows, .config = &request.config, .fields = offered_fields(), .operands_max = 1};
    config_defaults(&request.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    request.file = operands.count > 0 ? operands.values[0] : NULL;
    return run_request(&request);
}

const struct command command_sweep = {
    "sweep", "[FILE.json]", N_("Train a grid of networks, techniques, batches and devices."),
    N_("Every combination is a cell, and every cell a run of its own, kept among all runs. The "
       "same command again goes on where the last one ended: what is done is skipped, what was "
       "interrupted is resumed, what failed stays failed until --retry. Cells that the memory "
       "forecast says cannot fit are marked and not tried. A run whose loss stops being a number "
       "is a result: it has diverged, and is not repeated.\n"
       "FILE.json holds the grid: {\"networks\": [\"mlp\", \"lenet\"], \"batches\": \"1..512\", "
       "\"data\": \"digits\", \"iterations\": 100}; options replace what it says. Exit status 1: a "
       "cell "
       "failed."),
    sweep_run};
