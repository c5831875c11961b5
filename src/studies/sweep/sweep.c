/* Reads and writes the state of a sweep's cells.
 *
 * The state follows from files: without cell.json the cell waits; a cell.json that names a run has
 * that run's status; one with an error failed before it had a run. A held lock means that some
 * process computes the cell, whatever the files contain.
 */
#include "studies/sweep/sweep.h"
#include "runs/settings/config_paths.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "studies/sweep/internal.h"
#include "studies/sweep/sweep_after.h"
#include "training/forecast_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *words;
} states[SWEEP_STATES] = {[SWEEP_WAITING] = {"waiting", N_("waiting")},
                          [SWEEP_RUNNING] = {"running", N_("running")},
                          [SWEEP_DONE] = {"done", N_("done")},
                          [SWEEP_DIVERGED] = {"diverged", N_("diverged")},
                          [SWEEP_INTERRUPTED] = {"interrupted", N_("interrupted")},
                          [SWEEP_OUT_OF_MEMORY] = {"out-of-memory", N_("out of memory")},
                          [SWEEP_DISK_FULL] = {"disk-full", N_("disk full")},
                          [SWEEP_FAILED] = {"failed", N_("failed")},
                          [SWEEP_CANNOT_FIT] = {"cannot-fit", N_("cannot fit")},
                          [SWEEP_SKIPPED] = {"skipped", N_("skipped")}};

const char *sweep_state_name(enum sweep_state state)
{
    return states[state].name;
}

const char *sweep_state_words(enum sweep_state state)
{
    return gettext(states[state].words);
}

/* --- creating a sweep --- */

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct sweep_cell *const *)a)->id, (*(struct sweep_cell *const *)b)->id);
}

static bool refuse_same(const struct sweep_grid *grid, size_t one, size_t other,
                        struct error *error)
{
    size_t axis = 0;
    while (axis + 1 < grid->axis_count &&
           sweep_grid_value_index(grid, one, axis) == sweep_grid_value_index(grid, other, axis))
        axis++;
    return error_set(error, ERROR_USAGE, grid->axes[axis].field->key,
                     _("give it one value, or make two sweeps of it"),
                     _("it makes no difference to cells %zu and %zu, which would be one"),
                     (one < other ? one : other) + 1, (one < other ? other : one) + 1);
}

/* Refuses two cells with one id, since both would show the figures of one run. */
static bool check_ids(const struct sweep_grid *grid, const struct sweep_cell *cells, size_t count,
                      struct error *error)
{
    const struct sweep_cell **sorted = memory_new(count, sizeof *sorted, "a sweep", error);
    bool unique = sorted;
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &cells[i];
    if (sorted)
        qsort(sorted, count, sizeof *sorted, by_id);
    for (size_t i = 1; unique && i < count; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0)
            unique = refuse_same(grid, (size_t)(sorted[i - 1] - cells), (size_t)(sorted[i] - cells),
                                 error);
    free(sorted);
    return unique;
}

static bool make_cells(struct sweep *sweep, struct sweep_grid *grid, struct error *error)
{
    if (!sweep_grid_complete(grid, error))
        return false;
    size_t count = sweep_grid_cells(grid);
    struct sweep_cell *cells = memory_new(count, sizeof *cells, "a sweep", error);
    bool made = cells;
    for (size_t i = 0; made && i < count; i++)
        made = sweep_grid_cell(grid, i, &cells[i].config, cells[i].id, error);
    if (!made || !check_ids(grid, cells, count, error)) {
        free(cells);
        return false;
    }
    *sweep = (struct sweep){.grid = *grid, .cells = cells, .count = count};
    grid->axis_count = 0;
    return true;
}

bool sweep_create(struct sweep *sweep, struct sweep_grid *grid, struct error *error)
{
    *sweep = (struct sweep){0};
    return sweep_grid_make_absolute(grid, error) && make_cells(sweep, grid, error);
}

void sweep_free(struct sweep *sweep)
{
    sweep_grid_free(&sweep->grid);
    free(sweep->cells);
    free(sweep->directory);
    *sweep = (struct sweep){0};
}

bool sweep_find(struct sweep *sweep, struct error *error)
{
    free(sweep->directory);
    sweep->directory = sweep_files_directory(sweep->grid.name, error);
    if (!sweep->directory)
        return false;
    if (file_is_directory(sweep->directory))
        return true;
    free(sweep->directory);
    sweep->directory = NULL;
    return true;
}

bool sweep_save(struct sweep *sweep, struct error *error)
{
    free(sweep->directory);
    sweep->directory = sweep_files_directory(sweep->grid.name, error);
    return sweep->directory && file_make_directories(sweep->directory, error) &&
           sweep_files_write_grid(sweep->directory, &sweep->grid, error);
}

bool sweep_open(struct sweep *sweep, const char *name, struct error *error)
{
    struct sweep_grid grid;
    *sweep = (struct sweep){0};
    sweep_grid_begin(&grid);
    bool opened = sweep_files_read_grid(name, &grid, error) && make_cells(sweep, &grid, error) &&
                  sweep_find(sweep, error);
    sweep_grid_free(&grid);
    if (!opened)
        sweep_free(sweep);
    return opened;
}

/* --- states --- */

static void take_run_status(struct sweep_cell *cell, const struct run_snapshot *snapshot)
{
    static const enum sweep_state of_status[] = {[RUN_PREPARING] = SWEEP_RUNNING,
                                                 [RUN_RUNNING] = SWEEP_RUNNING,
                                                 [RUN_PAUSED] = SWEEP_RUNNING,
                                                 [RUN_VALIDATING] = SWEEP_RUNNING,
                                                 [RUN_DONE] = SWEEP_DONE,
                                                 [RUN_STOPPED] = SWEEP_INTERRUPTED,
                                                 [RUN_FAILED] = SWEEP_FAILED,
                                                 [RUN_REFUSED] = SWEEP_FAILED,
                                                 [RUN_INTERRUPTED] = SWEEP_INTERRUPTED};
    cell->state = of_status[snapshot->status];
    if (snapshot->status == RUN_REFUSED && snapshot->error.kind == ERROR_MEMORY)
        cell->state = SWEEP_CANNOT_FIT;
    if (snapshot->status == RUN_FAILED && snapshot->error.kind == ERROR_DIVERGED)
        cell->state = SWEEP_DIVERGED;
    if (run_cause_of(snapshot) != RUN_CAUSE_OTHER)
        cell->state = sweep_state_of_error(&snapshot->error);
    cell->reason = snapshot->error;
    cell->iterations = snapshot->iterations;
    if (sweep_is_computed(cell))
        cell->iteration = snapshot->iteration;
}

static bool is_removed(const char *directory)
{
    char *path = file_join(directory, "config.json");
    bool removed = path && !file_exists(path);
    free(path);
    return removed;
}

/* Sets the state of a cell from its run. If the run was removed, the cell waits again; if it cannot
 * be read, the cell is not computed again. */
static void take_run(struct sweep_cell *cell)
{
    struct run_outline outline;
    char *directory = sweep_files_run(cell->run);
    cell->state = SWEEP_FAILED;
    if (!directory)
        error_set_memory(&cell->reason, "a path", 0);
    else if (run_peek(directory, &outline, &cell->reason))
        take_run_status(cell, &outline.snapshot);
    else if (is_removed(directory)) {
        cell->state = SWEEP_WAITING;
        cell->reason = (struct error){0};
        cell->run[0] = '\0';
    }
    free(directory);
}

/* Sets the state of a cell whose process has failed. Its run may have been continued since. */
static void take_failure(struct sweep_cell *cell, const struct error *recorded)
{
    char run[sizeof cell->run];
    memcpy(run, cell->run, sizeof run);
    if (run[0])
        take_run(cell);
    if (run[0] && (sweep_is_computed(cell) || cell->state == SWEEP_RUNNING))
        return;
    memcpy(cell->run, run, sizeof run);
    cell->reason = *recorded;
    cell->state = sweep_state_of_error(recorded);
}

void sweep_refresh_claimed(struct sweep *sweep, size_t index)
{
    struct sweep_cell *cell = &sweep->cells[index];
    cell->state = SWEEP_WAITING;
    cell->run[0] = '\0';
    cell->reason = (struct error){0};
    if (!sweep->directory)
        return;
    sweep_files_read_cell(sweep->directory, cell);
    const struct error recorded = cell->reason;
    if (recorded.kind == ERROR_NONE && cell->run[0])
        take_run(cell);
    else if (recorded.kind != ERROR_NONE)
        take_failure(cell, &recorded);
    sweep_after_refresh(sweep, index);
}

void sweep_refresh(struct sweep *sweep, size_t index)
{
    struct sweep_cell *cell = &sweep->cells[index];
    sweep_refresh_claimed(sweep, index);
    if (sweep->directory && (!sweep_is_computed(cell) || cell->after_due > 0) &&
        sweep_files_is_claimed(sweep->directory, cell->id))
        cell->state = SWEEP_RUNNING;
}

bool sweep_is_computed(const struct sweep_cell *cell)
{
    return cell->state == SWEEP_DONE || cell->state == SWEEP_DIVERGED;
}

bool sweep_was_killed(const struct sweep_cell *cell)
{
    return cell->state == SWEEP_OUT_OF_MEMORY || cell->state == SWEEP_DISK_FULL ||
           (cell->state == SWEEP_INTERRUPTED && cell->reason.kind != ERROR_NONE);
}

/* Returns whether a folder has this file, and something in it. */
static bool has_content(const char *directory, const char *name)
{
    struct stat status;
    char *path = file_join(directory, name);
    const bool has = path && stat(path, &status) == 0 && status.st_size > 0;
    free(path);
    return has;
}

/* Returns whether the cell's run, if there is one, can go on from a checkpoint. */
static bool has_checkpoint(const struct sweep_cell *cell)
{
    char *directory = cell->run[0] ? sweep_files_run(cell->run) : NULL;
    const bool has = directory && (has_content(directory, "checkpoint.safetensors") ||
                                   has_content(directory, "checkpoint.previous.safetensors"));
    free(directory);
    return has;
}

const char *sweep_advise_going_on(const struct sweep *sweep, const struct sweep_cell *cell,
                                  bool retry, char *text, size_t size)
{
    char name[SWEEP_OPERAND];
    snprintf(text, size,
             !cell->run[0] ? _("tinca sweep --name %s%s computes it")
             : has_checkpoint(cell)
                 ? _("tinca sweep --name %s%s goes on from its checkpoint")
                 : _("tinca sweep --name %s%s starts its run over, as it has no checkpoint"),
             shell_operand(sweep->grid.name, name, sizeof name), retry ? " --retry" : "");
    return text;
}

bool sweep_is_due(const struct sweep *sweep, size_t index)
{
    enum sweep_state state = sweep->cells[index].state;
    return state == SWEEP_WAITING || state == SWEEP_INTERRUPTED || state == SWEEP_OUT_OF_MEMORY ||
           state == SWEEP_DISK_FULL;
}

bool sweep_has_work(const struct sweep *sweep, size_t index)
{
    const struct sweep_cell *cell = &sweep->cells[index];
    return sweep_is_due(sweep, index) || (cell->state == SWEEP_DONE && cell->after_due > 0);
}

void sweep_count(const struct sweep *sweep, size_t counts[SWEEP_STATES])
{
    memset(counts, 0, SWEEP_STATES * sizeof *counts);
    for (size_t i = 0; i < sweep->count; i++)
        counts[sweep->cells[i].state]++;
}

size_t sweep_count_computed(const struct sweep *sweep)
{
    size_t counts[SWEEP_STATES];
    sweep_count(sweep, counts);
    return counts[SWEEP_DONE] + counts[SWEEP_DIVERGED];
}

size_t sweep_cell_find(const struct sweep *sweep, const char *id)
{
    size_t number;
    if (text_to_size(id, &number))
        return number >= 1 && number <= sweep->count ? number - 1 : sweep->count;
    size_t i = 0;
    while (i < sweep->count && strcmp(sweep->cells[i].id, id) != 0)
        i++;
    return i;
}

/* --- forecasts --- */

void sweep_forecast(struct sweep *sweep, size_t index, size_t share)
{
    struct sweep_cell *cell = &sweep->cells[index];
    struct forecast forecast;
    struct error error;
    bool due = sweep_is_due(sweep, index) || cell->state == SWEEP_CANNOT_FIT;
    if (cell->state == SWEEP_CANNOT_FIT) /* more memory may be free next time */
        cell->state = SWEEP_WAITING;
    if (!forecast_make(&cell->config, 0, &forecast, &error)) {
        if (due) {
            cell->state = SWEEP_SKIPPED;
            cell->reason = error;
        }
        return;
    }
    cell->forecast_known = true;
    cell->flops = forecast.flops;
    cell->memory_needed = forecast_peak(&forecast); /* as the run itself forecasts it */
    cell->memory_free = forecast_free(&forecast);
    cell->weight_bytes = forecast.memory.weights;
    cell->solver_bytes = forecast.memory.solver;
    if (!due || cell->memory_free == 0)
        return;
    if (!forecast.fits ||
        forecast.swaps) /* a swapping run blocks the machine, and sweeps run unattended */
        forecast_refuse(&forecast, training_settings(&cell->config).batch, &cell->reason);
    else if (share > 1 && cell->memory_needed > cell->memory_free / share)
        error_set(&cell->reason, ERROR_MEMORY, cell->id,
                  _("use fewer jobs, or fewer ranks on this host"),
                  _("alone it would fit, but not beside %zu others of its size"), share - 1);
    else
        return;
    cell->state = SWEEP_CANNOT_FIT;
}

/* --- results --- */

static void read_findings(const struct run *run, size_t count, struct sweep_result *result)
{
    struct finding finding;
    double *first = &result->figures.first_negative_iteration;
    *first = 0;
    for (size_t i = 0; i < count && *first == 0; i++) {
        run_finding(run, i, &finding);
        if (finding.kind == FINDING_NEGATIVE_LOSS)
            *first = (double)finding.iteration;
    }
}

static void read_memory(const struct run *run, struct sweep_result *result)
{
    const struct series *series = run_series(run);
    uint64_t highest = 0;
    for (size_t i = 0, count = series_count(series); i < count; i++)
        if (series->points[i].memory_bytes > highest)
            highest = series->points[i].memory_bytes;
    result->figures.peak_memory = figure_of_count(highest);
}

static void read_run(const struct run *run, struct sweep_result *result)
{
    struct run_snapshot now;
    run_snapshot(run, &now);
    *result = (struct sweep_result){.known = true,
                                    .figures = run_figures_of(&now, NULL),
                                    .loss_caffe = (double)now.loss_caffe,
                                    .iterations = now.iteration,
                                    .images = run_facts(run)->images,
                                    .threads = run_facts(run)->threads};
    result->figures.training_ms = now.ms_per_image_median;
    result->figures.seconds = now.elapsed_seconds;
    read_findings(run, now.finding_count, result);
    read_memory(run, result);
}

void sweep_read_result(struct sweep *sweep, size_t index)
{
    struct sweep_cell *cell = &sweep->cells[index];
    if (!sweep_is_computed(cell) || cell->result.known)
        return;
    char *directory = sweep_files_run(cell->run);
    struct run *run = directory ? run_open(directory, NULL) : NULL;
    if (run)
        read_run(run, &cell->result);
    run_free(run);
    free(directory);
}

void sweep_read_progress(struct sweep *sweep, size_t index)
{
    struct sweep_cell *cell = &sweep->cells[index];
    if (cell->state == SWEEP_RUNNING)
        sweep_files_read_progress(sweep->directory, cell);
}

/* --- computing cells --- */

/* Returns whether a run computes what the cell asks for. Sweeps and runs of older versions may have
 * relative paths. */
static bool is_same_work(const struct run_config *cell, const struct run_config *run)
{
    struct run_config absolute[2] = {*cell, *run};
    return config_make_absolute(&absolute[0], NULL) && config_make_absolute(&absolute[1], NULL) &&
           config_equal(&absolute[0], &absolute[1], COMPARE_WORK);
}

char *sweep_interrupted_run(const struct sweep *sweep, size_t index)
{
    struct run_outline outline;
    const struct sweep_cell *cell = &sweep->cells[index];
    char *directory = sweep_files_run(cell->run);
    if (directory && run_peek(directory, &outline, NULL) &&
        (outline.snapshot.status == RUN_INTERRUPTED || outline.snapshot.status == RUN_STOPPED ||
         run_cause_of(&outline.snapshot) != RUN_CAUSE_OTHER) &&
        is_same_work(&cell->config, &outline.config))
        return directory;
    free(directory);
    return NULL;
}

int sweep_claim(struct sweep *sweep, size_t index, struct error *error)
{
    return sweep_files_claim(sweep->directory, sweep->cells[index].id, error);
}

bool sweep_record_run(struct sweep *sweep, size_t index, const char *run,
                      const struct error *failure, struct error *error)
{
    struct sweep_cell *cell = &sweep->cells[index];
    if (run != cell->run)
        snprintf(cell->run, sizeof cell->run, "%s", run ? run : "");
    return sweep_files_write_cell(sweep->directory, cell, failure, error);
}

bool sweep_reset_cell(struct sweep *sweep, size_t index, struct error *error)
{
    char *kept = sweep_interrupted_run(sweep, index);
    const char *run = kept ? sweep->cells[index].run : NULL;
    const bool forgotten = sweep_record_run(sweep, index, run, NULL, error);
    free(kept);
    if (forgotten)
        sweep_refresh(sweep, index);
    return forgotten;
}
