/* Prints and writes what is known of a sweep: its cells, the tables of its results, CSV and JSON,
 * the numbers of the cells that a job array must compute, and the list of all sweeps. */
#include "cli/sweep.h"

#include "cli/command.h"
#include "cli/output.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange/export/export.h"
#include "runs/record/run_open.h"
#include "runs/settings/settings.h"
#include "studies/sweep/sweep_after.h"
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_table.h"
#include "training/compress/technique.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sweep_output_is_open(const struct sweep *sweep, size_t index)
{
    const struct sweep_cell *cell = &sweep->cells[index];
    return sweep_has_work(sweep, index) || cell->state == SWEEP_CANNOT_FIT ||
           (cell->state == SWEEP_SKIPPED && cell->reason.kind == ERROR_UNSUPPORTED &&
            strcmp(cell->reason.what, machine_settings(&cell->config).device) == 0);
}

/* Appends a row for each cell. Only cells that are still to compute have an estimated time. */
static void write_cells(const struct sweep *sweep, const struct sweep_estimate *estimate,
                        struct table *table)
{
    char text[1200];
    const bool settings = sweep_grid_varies_settings(&sweep->grid);
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        bool ahead = sweep_is_due(sweep, i) || cell->state == SWEEP_RUNNING;
        double seconds = ahead ? sweep_estimate_cell(estimate, cell) : -1;
        table_cell(table, "%zu", i + 1);
        table_cell(table, "%s", cell->id);
        if (settings)
            table_cell(table, "%s", sweep_grid_settings_label(&sweep->grid, i, text, sizeof text));
        table_cell(table, "%s", sweep_state_words(cell->state));
        table_cell(table, "%s",
                   cell->forecast_known ? text_bytes(cell->memory_needed, text, sizeof text) : "-");
        table_cell(table, "%s", seconds < 0 ? "-" : text_duration(seconds, text, sizeof text));
        table_cell(table, "%s", sweep_reason_text(cell, text, sizeof text));
    }
}

/* Returns the epochs that the steps of a chain train for, one after the other. */
static size_t epochs_of(const struct sweep *sweep, const char *chain)
{
    struct technique_chain steps;
    const size_t each = sweep->grid.after_epochs;
    size_t epochs = 0;
    for (size_t i = 0; technique_chain_read(&steps, chain, NULL) && i < steps.count; i++)
        if (each > 0 && technique_step_trains(steps.steps[i]))
            epochs += each;
        else if (strncmp(steps.steps[i], "distill", 7) == 0 ||
                 strcmp(steps.steps[i], SWEEP_CONTROL) == 0)
            epochs++;
    return epochs;
}

/* Returns the estimated seconds of the epochs of a chain in all cells that lack its result;
 * negative if they are not known for one of them. */
static double seconds_of(const struct sweep *sweep, const struct sweep_estimate *estimate,
                         size_t number, size_t epochs)
{
    struct sweep_after_result result;
    double sum = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        sweep_after_read(sweep, i, number, &result);
        if (result.state != SWEEP_AFTER_WAITING || cell->state == SWEEP_SKIPPED || epochs == 0)
            continue;
        struct sweep_cell trained = *cell;
        config_set(&trained.config, KEY(iterations), "", NULL); /* the length is that of epochs */
        config_put_count(&trained.config, KEY(epochs), epochs);
        const double seconds = sweep_estimate_cell(estimate, &trained);
        if (seconds < 0)
            return -1;
        sum += seconds;
    }
    return sum;
}

/* Prints the techniques after training, and how long their training takes. */
static int print_chains(const struct sweep *sweep, const struct sweep_estimate *estimate)
{
    char text[SWEEP_CHAIN + 64];
    if (sweep->grid.after_count == 0)
        return EXIT_DONE;
    struct table table = table_begin("lrr", _("AFTER EACH TRAINING|EPOCHS|ESTIMATE"));
    for (size_t i = 1; i < sweep_after_count(sweep); i++) {
        const char *chain = sweep_after_chain(sweep, i);
        const size_t epochs = epochs_of(sweep, chain);
        const double seconds = seconds_of(sweep, estimate, i, epochs);
        table_cell(&table, "%s", sweep_after_label(sweep, chain, text, sizeof text));
        table_cell(&table, "%zu", epochs);
        table_cell(&table, "%s", seconds <= 0 ? "-" : text_duration(seconds, text, sizeof text));
    }
    output_print("\n");
    const int status = output_table(&table);
    output_print(_("The estimate is that of the epochs of fine-tuning, in all cells.\n"));
    return status;
}

static int print_cells(const struct sweep *sweep, const struct sweep_estimate *estimate,
                       size_t jobs)
{
    char text[160], space[96];
    struct table table =
        sweep_grid_varies_settings(&sweep->grid)
            ? table_begin("rlllrrl", _("#|CELL|SETTINGS|STATE|MEMORY|ESTIMATE|WHY"))
            : table_begin("rllrrl", _("#|CELL|STATE|MEMORY|ESTIMATE|WHY"));
    write_cells(sweep, estimate, &table);
    int status = output_table(&table);
    struct sweep_time time = sweep_estimate_left(estimate, sweep);
    struct sweep_disk disk = sweep_disk_left(estimate, sweep, jobs);
    sweep_disk_measure_free(&disk);
    output_print(_("\n%s: %zu cells. Memory is forecast; time left (estimate): %s.\n"),
                 sweep->grid.name, sweep->count, sweep_time_text(&time, jobs, text, sizeof text));
    output_print(_("Disk space (forecast): %s.\n"), sweep_disk_text(&disk, space, sizeof space));
    return status == EXIT_DONE ? print_chains(sweep, estimate) : status;
}

/* Opens the run of every computed cell; *count says how many of `runs` are open, also after an
 * error. */
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

static bool write_tables(const struct sweep *sweep, const struct sweep_request *request,
                         struct error *error)
{
    struct text text = {0};
    sweep_write_tables(sweep, request->format == SWEEP_FORMAT_MARKDOWN, &text);
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

int sweep_output_report(const struct sweep *sweep, const struct sweep_estimate *estimate,
                        const struct sweep_request *request)
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

int sweep_output_due(const struct sweep *sweep)
{
    bool any = false;
    for (size_t first = 0, last; first < sweep->count; first = last + 1) {
        last = first;
        if (!sweep_output_is_open(sweep, first))
            continue;
        while (last + 1 < sweep->count && sweep_output_is_open(sweep, last + 1))
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

/* Appends the row of one sweep; the reason takes the place of the counts if it cannot be read. */
static void add_sweep(struct table *table, const char *name)
{
    struct sweep sweep;
    struct error error;
    size_t counts[SWEEP_STATES];
    table_cell(table, "%s", name);
    if (!sweep_open(&sweep, name, &error)) {
        table_fill(table, 4, "-");
        table_cell(table, "%s", error.why);
        return;
    }
    for (size_t i = 0; i < sweep.count; i++)
        sweep_refresh(&sweep, i);
    sweep_count(&sweep, counts);
    table_cell(table, "%zu", sweep.count);
    table_cell(table, "%zu", counts[SWEEP_DONE]);
    table_cell(table, "%zu", counts[SWEEP_DIVERGED]);
    table_cell(table, "%zu",
               counts[SWEEP_FAILED] + counts[SWEEP_OUT_OF_MEMORY] + counts[SWEEP_DISK_FULL]);
    table_cell(table, "%s", counts[SWEEP_RUNNING] ? sweep_state_words(SWEEP_RUNNING) : "");
    sweep_free(&sweep);
}

int sweep_output_list(void)
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
        return output_table(&table);
    table_free(&table);
    output_print("%s\n", _("There are no sweeps yet: tinca sweep --networks ... makes one."));
    return EXIT_DONE;
}

void sweep_output_failures(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        struct error error;
        char advice[256];
        if (cell->state != SWEEP_FAILED && !sweep_was_killed(cell))
            continue;
        error_set(&error, cell->reason.kind, cell->id,
                  sweep_was_killed(cell)
                      ? sweep_advise_going_on(sweep, cell, false, advice, sizeof advice)
                      : cell->reason.advice,
                  "%s",
                  cell->reason.kind != ERROR_NONE ? cell->reason.why
                                                  : _("the run failed; tinca runs lists it"));
        output_error(&error);
    }
}
