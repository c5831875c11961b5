/* tinca sweep: trains a grid of runs, cell by cell. The results are kept in the sweep's folder and
 * among the runs, so that the same command continues where an earlier one ended.
 *
 * The request (sweep_request.c) becomes a sweep. prepare_cells() reads what earlier commands and
 * other processes have computed and forecasts the rest; then the command prints (sweep_output.c),
 * computes the cells that remain in processes (sweep_jobs.c), here or on the ranks of a launcher
 * (sweep_over.c), or computes a single cell itself (--cell). */
#include "cli/sweep.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "runs/settings/settings.h"
#include "studies/sweep/sweep_after.h"
#include "studies/sweep/sweep_estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {"text", "markdown", NULL}; /* enum sweep_format */
static const char *const grid_names[] = {"overfit", "cifar", NULL};
static const char *const over_names[] = {"mpi", NULL};

enum { ESTIMATE_RUNS = 100 }; /* the newest runs from which times are estimated */

/* --- before --- */

/* Reads the state of every cell, forecasts its memory and collects the times for the estimate. With
 * --retry a failed cell waits again. */
static void prepare_cells(struct sweep *sweep, const struct sweep_request *request,
                          struct sweep_estimate *estimate)
{
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_cell *cell = &sweep->cells[i];
        config_put_count(&cell->config, KEY(threads),
                         sweep_request_threads(request, machine_settings(&cell->config).threads));
        sweep_refresh(sweep, i);
        if (request->retry && cell->state == SWEEP_FAILED) {
            cell->state = SWEEP_WAITING;
            cell->reason = (struct error){0};
        }
        sweep_forecast(sweep, i, request->jobs);
        sweep_read_result(sweep, i);
        sweep_estimate_add_cell(estimate, cell, NULL);
    }
    sweep_estimate_add_runs(estimate, ESTIMATE_RUNS, NULL);
}

/* Fails with the first cell's reason if every cell is skipped: then the request itself is wrong.
 * With `elsewhere` set, a cell that another machine may compute is enough. */
static bool check_some(const struct sweep *sweep, bool elsewhere, struct error *error)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->cells[i].state != SWEEP_SKIPPED || (elsewhere && sweep_output_is_open(sweep, i)))
            return true;
    *error = sweep->cells[0].reason;
    error->kind = ERROR_USAGE;
    return false;
}

/* --- computing --- */

/* Returns whether a run of the cell was refused because of a lack of memory. Whether the cell fits
 * now is known from the forecast of prepare_cells. */
static bool was_refused(const struct sweep_cell *cell)
{
    return cell->run[0] && (cell->state == SWEEP_WAITING || cell->state == SWEEP_CANNOT_FIT);
}

/* Makes cells wait again: failed ones with --retry only, and always those that did not fit, since
 * there may be more free memory now. */
static bool reset_failed_cells(struct sweep *sweep, const struct sweep_request *request,
                               struct error *error)
{
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        bool fits = cell->state != SWEEP_CANNOT_FIT;
        if (request->retry && cell->after_failed > 0 && !sweep_after_reset(sweep, i, error))
            return false;
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

/* Reads the cells that other processes have computed in the meantime. */
static void refresh_shared(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        if (sweep->cells[i].state == SWEEP_RUNNING)
            sweep_refresh(sweep, i);
        sweep_read_result(sweep, i);
    }
}

/* Says before a long sweep of `jobs` cells at a time that the disk will be full before its end. */
static void warn_of_disk(const struct sweep *sweep, const struct sweep_estimate *estimate,
                         const struct sweep_request *request, size_t jobs)
{
    char text[96];
    struct sweep_disk disk = sweep_disk_left(estimate, sweep, jobs);
    sweep_disk_measure_free(&disk);
    if (!request->quiet && sweep_disk_lacks(&disk))
        output_note(_("The disk may not suffice: the runs that remain need %s (forecast).\n"),
                    sweep_disk_text(&disk, text, sizeof text));
}

/* Returns whether a technique after training failed, or was not applied. */
static bool any_after_is_open(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->cells[i].after_failed > 0 || sweep->cells[i].after_due > 0)
            return true;
    return false;
}

/* Says which command goes on with the cells that can go on, and which with those that failed. */
static void announce_rest(const struct sweep *sweep, const size_t counts[SWEEP_STATES])
{
    static const enum sweep_state going_on[] = {SWEEP_INTERRUPTED, SWEEP_OUT_OF_MEMORY,
                                                SWEEP_DISK_FULL};
    char name[300], text[200] = "";
    shell_operand(sweep->grid.name, name, sizeof name);
    for (size_t i = 0; i < sizeof going_on / sizeof *going_on; i++) {
        const size_t count = counts[going_on[i]], length = strlen(text);
        if (count > 0)
            snprintf(text + length, sizeof text - length, "%s%zu %s", length > 0 ? ", " : "", count,
                     sweep_state_words(going_on[i]));
    }
    if (text[0])
        output_note(_("%s: tinca sweep --name %s goes on with them\n"), text, name);
    if (counts[SWEEP_FAILED] > 0)
        output_note(_("%zu failed: tinca sweep --name %s --retry computes them once more\n"),
                    counts[SWEEP_FAILED], name);
}

/* Prints why techniques after the training of a cell were cut off: its process, or the commands
 * that apply them. */
static void print_cut_off(const struct sweep *sweep, size_t index)
{
    struct sweep_after_result result;
    const struct sweep_cell *cell = &sweep->cells[index];
    if (cell->reason.kind != ERROR_NONE)
        output_note("%s: %s\n", cell->id, cell->reason.why);
    for (size_t i = 0; i < sweep_after_count(sweep); i++) {
        sweep_after_read(sweep, index, i, &result);
        if (result.state == SWEEP_AFTER_WAITING && result.reason.kind != ERROR_NONE)
            output_note("%s: %s: %s: %s\n", cell->id, result.reason.what,
                        sweep_state_words(sweep_after_cell_state(&result)), result.reason.why);
    }
}

/* Says which command goes on with techniques after training that were cut off, and why they were,
 * and which with those that failed. */
static void announce_after(const struct sweep *sweep)
{
    char name[300];
    size_t due = 0, failed = 0;
    shell_operand(sweep->grid.name, name, sizeof name);
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        if (cell->state != SWEEP_DONE)
            continue;
        due += cell->after_due;
        failed += cell->after_failed;
        if (cell->after_due > 0)
            print_cut_off(sweep, i);
    }
    if (due > 0)
        output_note(_("%zu results after training are due: tinca sweep --name %s computes them\n"),
                    due, name);
    if (failed > 0)
        output_note(_("%zu results after training failed: tinca sweep --name %s --retry computes "
                      "them once more\n"),
                    failed, name);
}

/* Computes the cells that remain, and reports. */
static int compute_cells(struct sweep *sweep, struct sweep_estimate *estimate,
                         const struct sweep_request *request, struct sweep_over *over)
{
    struct error error;
    size_t counts[SWEEP_STATES];
    const struct sweep_jobs jobs = {request->jobs, request->quiet, request->wait};
    if (!sweep_save(sweep, &error) || !reset_failed_cells(sweep, request, &error))
        return output_error(&error);
    warn_of_disk(sweep, estimate, request,
                 over->active ? cluster_ranks(over->cluster) : request->jobs);
    int worked = over->active ? sweep_over_run(over, sweep, estimate, request)
                              : sweep_jobs_run(sweep, estimate, &jobs);
    refresh_shared(sweep);
    sweep_count(sweep, counts);
    if (!request->quiet && counts[SWEEP_RUNNING] > 0)
        output_note("%s\n", _("Another process still computes some of the cells."));
    int status = sweep_output_report(sweep, estimate, request);
    if (status != EXIT_DONE)
        return status;
    if (request->quiet)
        sweep_output_failures(sweep);
    else
        announce_rest(sweep, counts);
    announce_after(sweep);
    const size_t open = counts[SWEEP_FAILED] + counts[SWEEP_INTERRUPTED] +
                        counts[SWEEP_OUT_OF_MEMORY] + counts[SWEEP_DISK_FULL];
    return worked != EXIT_DONE                    ? worked
           : open > 0 || any_after_is_open(sweep) ? EXIT_FAILED
                                                  : EXIT_DONE;
}

/* Computes the cell that --cell names in this process, unless it is already computed. */
static int run_one(struct sweep *sweep, const struct sweep_request *request)
{
    struct error error;
    size_t index = sweep_cell_find(sweep, request->cell);
    if (index == sweep->count) {
        error_set(&error, ERROR_USAGE, request->cell, _("tinca sweep --dry-run lists them"),
                  _("the sweep has no such cell"));
        return output_error(&error);
    }
    sweep_refresh(sweep, index);
    if (!sweep_request_is_earlier(request) && !sweep_save(sweep, &error))
        return output_error(&error);
    if (request->retry && sweep->cells[index].state == SWEEP_FAILED &&
        !sweep_reset_cell(sweep, index, &error))
        return output_error(&error);
    if (request->retry && sweep->cells[index].after_failed > 0 &&
        !sweep_after_reset(sweep, index, &error))
        return output_error(&error);
    struct run_config *config = &sweep->cells[index].config;
    config_put_count(config, KEY(threads),
                     sweep_request_threads(request, machine_settings(config).threads));
    sweep_forecast(sweep, index, 1);
    if (sweep_has_work(sweep, index)) {
        const int status = sweep_jobs_run_cell(sweep, index, request->quiet, request->wait);
        if (status != EXIT_DONE || !any_after_is_open(sweep))
            return status;
        announce_after(sweep);
        return EXIT_FAILED;
    }
    if (!request->quiet)
        output_note("%s: %s\n", sweep->cells[index].id,
                    sweep_state_words(sweep->cells[index].state));
    return sweep->cells[index].state == SWEEP_FAILED ? EXIT_FAILED : EXIT_DONE;
}

static int sweep_all(struct sweep *sweep, const struct sweep_request *request,
                     struct sweep_over *over)
{
    struct error error;
    struct sweep_estimate estimate = {0};
    int status;
    if (request->cell)
        return run_one(sweep, request);
    prepare_cells(sweep, request, &estimate);
    if (!check_some(sweep, request->due, &error) ||
        (!request->due && !request->report && !sweep_after_check(sweep, &error)))
        status = output_error(&error);
    else if (request->due)
        status = sweep_output_due(sweep);
    else
        status = request->dry_run || request->report
                     ? sweep_output_report(sweep, &estimate, request)
                     : compute_cells(sweep, &estimate, request, over);
    sweep_estimate_free(&estimate);
    return status;
}

/* --- the command line --- */

/* Returns whether anything but the CSV tables goes to standard output. */
static bool uses_stdout(const struct sweep_request *request)
{
    if (request->target)
        return output_file_is_stdout(request->target) || (request->dry_run && !request->as_json);
    return request->as_json || request->dry_run || request->report || !request->quiet;
}

static bool check_jobs(const struct sweep_request *request, struct error *error)
{
    return !request->wait || request->jobs == 1 ||
           error_set(error, ERROR_USAGE, "--wait", _("give one of --wait and --jobs"),
                     _("one run at a time computes, so there can be only one job"));
}

/* Checks the files to be written before hours of computing, not after. */
static bool check_targets(const struct sweep_request *request, struct error *error)
{
    const char *csv = request->csv;
    if (request->target && !output_file_check(request->target, OUTPUT_TEXT, error))
        return false;
    if (csv && output_file_is_stdout(csv) && uses_stdout(request))
        return error_set(error, ERROR_USAGE, "--csv", _("name a folder, or give -o FILE"),
                         _("the tables go to standard output already"));
    return !csv || output_file_is_stream(csv) || file_make_directories(csv, error);
}

static int run_request(const struct sweep_request *request, struct sweep_over *over)
{
    struct error error;
    struct sweep sweep = {0};
    int status;
    if (request->list)
        return sweep_output_list();
    if (!over->active && !check_jobs(request, &error))
        return output_error(&error);
    if (!check_targets(request, &error) || !sweep_request_open(request, &sweep, &error))
        status = output_error(&error);
    else
        status = sweep_all(&sweep, request, over);
    sweep_free(&sweep);
    return status;
}

/* Returns the keys of the configuration that are options here too. Those that are axes of every
 * grid have an option for the list of their values instead. */
static const char **offered_fields(void)
{
    static const char *keys[CONFIG_MAX_FIELDS + 1];
    size_t count = 0;
    for (size_t i = 0; i < config_field_count; i++)
        if (!config_fields[i].grid.plural)
            keys[count++] = config_fields[i].key;
    keys[count] = NULL;
    return keys;
}

enum { GRID_ROWS = 9, AFTER_ROWS = 2, WORK_ROWS = 9, OVER_ROWS = 2, OUTPUT_ROWS = 5 };

/* Fills in the options that describe the grid. */
static void make_grid_rows(struct sweep_request *request, struct option_row rows[GRID_ROWS])
{
    const struct option_row own[GRID_ROWS] = {
        TEXT_ROW("networks", "LIST", N_("Networks, with commas between them."), &request->networks),
        TEXT_ROW("techniques", "LIST", N_("Techniques: none, dsc, shuffle, shift."),
                 &request->techniques),
        TEXT_ROW("batches", "LIST",
                 N_("Batch sizes; 1..512 stands for the powers of two from 1 to 512."),
                 &request->batches),
        TEXT_ROW("devices", "LIST",
                 N_("Devices: cpu, reference, cuda:0; cuda:0,1 trains one run on two GPUs."),
                 &request->devices),
        {.name = "vary",
         .argument = "KEY=LIST",
         .help =
             N_("Any other option as a list: --vary lr=0.1,0.01, --vary seed=1..5. May be given "
                "several times."),
         .kind = OPTION_LIST,
         .value = &request->vary},
        NAME_ROW("grid", "NAME", N_("The grid of a study; other options replace parts of it."),
                 &request->grid, grid_names),
        TEXT_ROW("name", "NAME",
                 N_("The sweep's name; alone, the name of an earlier sweep to continue."),
                 &request->name),
        LIST_ROW("tag", "TAG",
                 N_("A tag for the run of each cell; give the option once for each tag."),
                 &request->tags),
        TEXT_ROW("note", "TEXT", N_("A note on the run of each cell, one line."), &request->note)};
    memcpy(rows, own, sizeof own);
}

/* Fills in the options that describe the techniques after training. */
static void make_after_rows(struct sweep_request *request, struct option_row rows[AFTER_ROWS])
{
    const struct option_row own[AFTER_ROWS] = {
        LIST_ROW("after", "LIST",
                 N_("Techniques after each training, with commas between them; + joins a chain: "
                    "prune:0.5+quantize:percentile."),
                 &request->after),
        COUNT_ROW("after-epochs", "N",
                  N_("Fine-tune for N epochs in the techniques after training that can."),
                  &request->after_epochs, 1, 100000)};
    memcpy(rows, own, sizeof own);
}

/* Fills in the options that say what to do with it. */
static void make_work_rows(struct sweep_request *request, struct option_row rows[WORK_ROWS])
{
    const struct option_row own[WORK_ROWS] = {
        TEXT_ROW("cell", "CELL",
                 N_("Compute only this cell, given by its number or name from --dry-run."),
                 &request->cell),
        {.name = "jobs",
         .letter = 'j',
         .argument = "N",
         .help = N_("How many runs at the same time; the cores are divided among them."),
         .kind = OPTION_COUNT,
         .value = &request->jobs,
         .low = 1,
         .high = 64},
        COUNT_ROW("cores", "N", N_("Divide N cores among the jobs instead of all cores."),
                  &request->cores, 1, 4096),
        SWITCH_ROW("wait",
                   N_("Start each cell when no other run of yours is on, first come first served."),
                   &request->wait),
        SWITCH_ROW("retry", N_("Compute the cells that failed once more."), &request->retry),
        LETTER_SWITCH_ROW("dry-run", 'n',
                          N_("Only list the cells, their memory and the estimated time."),
                          &request->dry_run),
        {.name = "due",
         .help =
             N_("Only print the numbers of the cells that remain, as sbatch --array takes them."),
         .kind = OPTION_SWITCH,
         .value = &request->due},
        SWITCH_ROW("report", N_("Compute nothing: write the tables of the present results."),
                   &request->report),
        SWITCH_ROW("list", N_("List all sweeps."), &request->list)};
    memcpy(rows, own, sizeof own);
}

/* Fills in the options that say where else the cells are computed. */
static void make_over_rows(struct sweep_request *request, struct option_row rows[OVER_ROWS])
{
    rows[0] = (struct option_row){
        .name = "over",
        .argument = "LIBRARY",
        .help = N_("Give the cells to the processes that mpirun or srun has started, on all hosts, "
                   "the largest cells first."),
        .kind = OPTION_NAME,
        .value = &request->over,
        .choices = over_names};
    rows[1] = processes_row(&request->ranks);
}

/* Fills in the options that say what to write, and where. */
static void make_output_rows(struct sweep_request *request, struct option_row rows[OUTPUT_ROWS])
{
    const struct option_row own[OUTPUT_ROWS] = {
        {.name = "format",
         .argument = "NAME",
         .help = N_("The format of the tables."),
         .kind = OPTION_CHOICE,
         .value = &request->format,
         .choices = format_names,
         .output = &request->target},
        LETTER_TEXT_ROW("output", 'o', "FILE",
                        N_("Write the tables to FILE instead of standard output, which is also -."),
                        &request->target),
        TEXT_ROW("csv", "DIR", N_("Write the studies' two CSV files into DIR as well."),
                 &request->csv),
        {.name = "json",
         .help = N_("Print one JSON document and nothing else."),
         .kind = OPTION_SWITCH,
         .value = &request->as_json,
         .output = &request->target},
        OUTPUT_QUIET_OPTION(&request->quiet)};
    memcpy(rows, own, sizeof own);
}

static int sweep_run(const struct command *command, int argc, char **argv)
{
    struct sweep_request request = {.jobs = 1};
    struct operands operands;
    int status;
    struct sweep_over over = {0};
    struct option_row rows[GRID_ROWS + AFTER_ROWS + WORK_ROWS + OVER_ROWS + OUTPUT_ROWS + 1] = {0};
    make_grid_rows(&request, rows);
    make_after_rows(&request, rows + GRID_ROWS);
    make_work_rows(&request, rows + GRID_ROWS + AFTER_ROWS);
    make_over_rows(&request, rows + GRID_ROWS + AFTER_ROWS + WORK_ROWS);
    make_output_rows(&request, rows + GRID_ROWS + AFTER_ROWS + WORK_ROWS + OVER_ROWS);
    const struct option_set set = {
        .rows = rows, .config = &request.config, .fields = offered_fields(), .operands_max = 1};
    config_defaults(&request.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    request.file = operands.count > 0 ? operands.values[0] : NULL;
    if (!sweep_over_join(&over, &request, &status))
        return status;
    return sweep_over_leave(&over, run_request(&request, &over));
}

const struct command command_sweep = {
    .name = "sweep",
    .in_launcher = true,
    .operands = "[FILE.json]",
    .summary = N_("Train a grid of networks, techniques, batches and devices."),
    .details =
        N_("Each combination is a cell, and each cell is a run among all other runs. Repeating the "
           "command continues where it ended: cells that are done are skipped, interrupted ones "
           "are resumed, and failed ones stay failed until --retry. Cells that do not fit the "
           "memory, by the forecast, are marked and not computed. A run whose loss becomes NaN or "
           "infinite is a result: it has diverged, and is not repeated.\nFILE.json holds the grid: "
           "{\"networks\": [\"mlp\", \"lenet\"], \"batches\": \"1..512\", \"data\": \"digits\", "
           "\"iterations\": 100}; options replace what it says. Exit status 1: a cell failed."),
    .run = sweep_run,
};
