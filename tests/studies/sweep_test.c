/* Grids, the names of their cells, and time estimates from earlier runs. */
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_table.h"

#include "base/files/file.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_json.h"
#include "runs/values/run_snapshot.h"

#include "session_files.h"

#include <errno.h>
#include <math.h>

static bool make(struct sweep *sweep, const char *networks, const char *batches, const char *lr)
{
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    config_set(&grid.base, "iterations", "10", NULL);
    bool made = sweep_grid_vary(&grid, "batches", batches, NULL) &&
                sweep_grid_vary(&grid, "networks", networks, NULL) &&
                (!lr || sweep_grid_vary(&grid, "lr", lr, NULL)) && sweep_create(sweep, &grid, NULL);
    sweep_grid_free(&grid);
    return made;
}

static const struct sweep_cell *find(const struct sweep *sweep, const char *network, size_t batch)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (strcmp(sweep->cells[i].config.network, network) == 0 &&
            sweep->cells[i].config.batch == batch)
            return &sweep->cells[i];
    return NULL;
}

static void tap_near(double value, double wanted, const char *name)
{
    tap_ok(fabs(value - wanted) < 1e-9, "%s: %g", name, value);
}

/* --- the grid --- */

static void test_order(void)
{
    struct sweep sweep;
    char label[64];
    tap_ok(make(&sweep, "mlp,lenet", "1..8", "0.10,0.01,0.1"), "a grid is expanded");
    tap_ok(sweep.count == 16, "equal values count once");
    tap_ok(sweep_grid_columns(&sweep.grid) == 4 && sweep.cells[3].config.batch == 8 &&
               sweep.cells[4].config.batch == 1,
           "batches change fastest");
    tap_ok(strcmp(sweep.cells[8].config.network, "lenet") == 0 &&
               strcmp(sweep.cells[7].config.network, "mlp") == 0,
           "networks change slowest");
    tap_ok(strcmp(sweep_grid_row_label(&sweep.grid, 1, true, label, sizeof label),
                  "mlp, lr 0.01") == 0,
           "a row has the settings that vary: %s", label);
    sweep_free(&sweep);
}

static void test_ids(void)
{
    struct sweep one, other;
    make(&one, "mlp,lenet", "1..8", NULL);
    make(&other, "lenet", "8,2", NULL);
    tap_ok(strcmp(find(&one, "lenet", 2)->id, find(&other, "lenet", 2)->id) == 0,
           "the same configuration has the same id in every grid");
    bool unique = true;
    for (size_t i = 0; i < one.count; i++)
        for (size_t j = 0; j < i; j++)
            unique = unique && strcmp(one.cells[i].id, one.cells[j].id) != 0;
    tap_ok(unique, "and no two cells share a row");
    sweep_free(&other);
    make(&other, "lenet", "2", "0.02");
    tap_ok(strcmp(find(&one, "lenet", 2)->id, other.cells[0].id) != 0,
           "another setting is another id");
    tap_ok(sweep_cell_find(&one, "3") == 2 && sweep_cell_find(&one, one.cells[5].id) == 5 &&
               sweep_cell_find(&one, "0") == one.count && sweep_cell_find(&one, "x") == one.count,
           "a cell is found by number and by id");
    sweep_free(&one);
    sweep_free(&other);
}

/* Makes a sweep of mlp in which one more setting varies. */
static bool make_varied(struct sweep *sweep, const char *key, const char *values,
                        struct error *error)
{
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    config_set(&grid.base, "network", "mlp", NULL);
    config_set(&grid.base, "iterations", "10", NULL);
    bool made = sweep_grid_vary(&grid, key, values, error) && sweep_create(sweep, &grid, error);
    sweep_grid_free(&grid);
    return made;
}

static void test_same_ids(void)
{
    struct sweep one, other;
    struct error error = {0};
    tap_ok(make_varied(&one, "threads", "1,2,4", &error) && one.count == 3 &&
               strcmp(one.cells[0].id, one.cells[1].id) != 0 &&
               strcmp(one.cells[1].id, one.cells[2].id) != 0,
           "threads that vary are part of the id");
    sweep_free(&one);
    bool made = make_varied(&one, "threads", "2", NULL) && make_varied(&other, "seed", "1", NULL);
    tap_ok(made && strcmp(one.cells[0].id, other.cells[0].id) == 0, "but not where they do not");
    sweep_free(&one);
    sweep_free(&other);
    tap_ok(make_varied(&one, "max-time", "1m,2m", &error) && one.count == 2 &&
               strcmp(one.cells[0].id, one.cells[1].id) != 0,
           "nor is the longest time part of the id, except where it varies");
    sweep_free(&one);
    tap_ok(!make_varied(&one, "epochs", "1,2", &error) && strcmp(error.what, "epochs") == 0 &&
               strstr(error.why, "cells 1 and 2"),
           "epochs beside iterations are refused: %s", error.why);
}

static void test_files(void)
{
    struct sweep sweep, again;
    struct sweep_grid grid;
    struct error error;
    sweep_grid_begin(&grid);
    config_set(&grid.base, "seed", "7", NULL);
    sweep_grid_apply(&grid, "overfit", NULL);
    sweep_grid_vary(&grid, "data", "tench;tench,limit=100", NULL);
    tap_ok(sweep_create(&sweep, &grid, &error) && sweep_save(&sweep, &error),
           "a study's grid is stored");
    tap_ok(sweep_open(&again, "overfit", &error), "and read back");
    bool same = again.count == sweep.count;
    for (size_t i = 0; same && i < sweep.count; i++)
        same = strcmp(sweep.cells[i].id, again.cells[i].id) == 0;
    tap_ok(same && sweep.count >= 40, "with the same cells");
    tap_ok(find(&again, "googlenet", 4)->config.average_loss == 40 &&
               find(&again, "alexnet", 4)->config.average_loss == 1,
           "each network gets its settings of the preset");
    struct sweep_cell *cell = &sweep.cells[3];
    int lock = sweep_claim(&sweep, 3, &error);
    tap_ok(lock >= 0, "a cell is claimed");
    tap_ok(sweep_claim(&again, 3, &error) < 0 && error.kind == ERROR_NONE, "by one alone");
    sweep_refresh(&again, 3);
    tap_ok(again.cells[3].state == SWEEP_RUNNING, "and is seen to be on");
    close(lock);
    error_set(&error, ERROR_SYSTEM, cell->id, "look", "it broke");
    sweep_record_run(&sweep, 3, NULL, &error, NULL);
    sweep_refresh(&again, 3);
    tap_ok(again.cells[3].state == SWEEP_FAILED &&
               strcmp(again.cells[3].reason.why, "it broke") == 0,
           "the failure is stored");
    snprintf(cell->run, sizeof cell->run, "20010101-000000-crashed");
    sweep_record_run(&sweep, 3, cell->run, &error, NULL);
    sweep_refresh(&again, 3);
    tap_ok(strcmp(again.cells[3].run, "20010101-000000-crashed") == 0, "with its run");
    sweep_reset_cell(&again, 3, NULL);
    tap_ok(again.cells[3].state == SWEEP_WAITING, "and can be forgotten");
    sweep_record_run(&sweep, 3, "20010101-000000-gone", NULL, NULL);
    sweep_refresh(&again, 3);
    tap_ok(again.cells[3].state == SWEEP_WAITING, "a deleted run does not count");
    sweep_free(&sweep);
    sweep_free(&again);
}

/* A number after a device adds a GPU to it. */
static void test_devices(void)
{
    static const char *const wanted[] = {"cpu", "cuda:0,1", "cuda:2", "cuda:1,2,3"};
    struct sweep_grid grid;
    sweep_grid_begin(&grid);
    const bool made = sweep_grid_vary(&grid, "devices", "cpu,cuda:0,1,cuda:2,cuda:1,2,3", NULL);
    const struct sweep_axis *axis = sweep_grid_axis(&grid, "device");
    bool same = made && axis && axis->count == 4;
    for (size_t i = 0; same && i < 4; i++)
        same = strcmp(axis->values[i], wanted[i]) == 0;
    tap_ok(same, "several GPUs in a list are one device");
    sweep_grid_free(&grid);
}

static void test_refusals(void)
{
    struct sweep_grid grid;
    struct error error;
    sweep_grid_begin(&grid);
    tap_ok(!sweep_grid_vary(&grid, "batches", "1,x", &error), "an invalid batch is refused");
    tap_ok(!sweep_grid_vary(&grid, "batches", "1..100000", &error) &&
               strstr(error.why, "from 1 to ") && sweep_grid_axis(&grid, "batch")->count == 1,
           "so is a range beyond the largest batch: %s", error.why);
    tap_ok(!sweep_grid_vary(&grid, "preset", "cifar", &error), "presets do not vary");
    sweep_grid_free(&grid);
    sweep_grid_begin(&grid);
    char seeds[8192] = "1";
    for (int i = 2; i < 1200; i++)
        snprintf(seeds + strlen(seeds), sizeof seeds - strlen(seeds), ",%d", i);
    sweep_grid_vary(&grid, "seed", seeds, NULL);
    sweep_grid_vary(&grid, "batch", "1..512", NULL);
    tap_ok(!sweep_grid_complete(&grid, &error) && strstr(error.why, "cells"),
           "so are too many cells");
    sweep_grid_free(&grid);
}

/* An unreadable run is distinguished from a deleted run. */
static void test_unreadable_run(void)
{
    struct sweep sweep;
    struct error error;
    char *home = run_directory_home(NULL), *run = file_join(home, "20010101-000000-broken");
    char *path = file_join(run, "config.json");
    make(&sweep, "mlp", "1", NULL);
    bool kept = sweep_save(&sweep, &error);
    int lock = kept ? sweep_claim(&sweep, 0, &error) : -1; /* makes its folder */
    close(lock);
    kept = lock >= 0 && file_make_directories(run, &error) &&
           file_write(path, "{", 1, true, &error) &&
           sweep_record_run(&sweep, 0, "20010101-000000-broken", NULL, &error);
    sweep_refresh(&sweep, 0);
    tap_ok(kept && sweep.cells[0].state == SWEEP_FAILED && sweep.cells[0].reason.why[0] &&
               sweep.cells[0].run[0],
           "a run that cannot be read: %s", sweep.cells[0].reason.why);
    unlink(path);
    sweep_refresh(&sweep, 0);
    tap_ok(sweep.cells[0].state == SWEEP_WAITING && !sweep.cells[0].reason.why[0] &&
               !sweep.cells[0].run[0],
           "is not a deleted run");
    free(path);
    free(run);
    free(home);
    sweep_free(&sweep);
}

/* --- estimates --- */

static void finish(struct sweep_cell *cell, double seconds)
{
    cell->state = SWEEP_DONE;
    struct run_figures *figures = &cell->result.figures;
    cell->result =
        (struct sweep_result){.known = true, .figures = run_figures_unknown(), .iterations = 10};
    figures->training_ms = 2;
    figures->loss = 0.5;
    figures->seconds = seconds;
    figures->first_negative_iteration = 0;
}

static void test_estimate(void)
{
    struct sweep sweep;
    struct sweep_estimate estimate = {0};
    char text[128];
    make(&sweep, "mlp,lenet", "1..8", NULL);
    for (size_t i = 0; i < sweep.count; i++)
        sweep.cells[i].flops = i < 4 ? 1000 : 3000;
    tap_ok(sweep_estimate_cell(&estimate, &sweep.cells[0]) < 0,
           "without measurements there is no estimate");
    struct sweep_time time = sweep_estimate_left(&estimate, &sweep);
    tap_ok(time.unknown == 8 && time.known == 0, "of no cell");
    finish(&sweep.cells[1], 20); /* mlp, batch 2, 10 iterations: one second per image */
    sweep_estimate_add_cell(&estimate, &sweep.cells[1], NULL);
    tap_near(sweep_estimate_cell(&estimate, &sweep.cells[3]), 80, "another batch: by the images");
    tap_near(sweep_estimate_cell(&estimate, &sweep.cells[5]), 60, "another network: by the FLOPs");
    finish(&sweep.cells[7], 40); /* lenet, batch 8 */
    sweep_estimate_add_cell(&estimate, &sweep.cells[7], NULL);
    tap_near(sweep_estimate_cell(&estimate, &sweep.cells[6]), 20,
             "the same network counts more than the nearer batch");
    snprintf(sweep.cells[0].config.device, sizeof sweep.cells[0].config.device, "reference");
    tap_ok(sweep_estimate_cell(&estimate, &sweep.cells[0]) < 0,
           "a run on another device gives no estimate");
    time = sweep_estimate_left(&estimate, &sweep);
    tap_near(time.seconds, 40 + 80 + 5 + 10 + 20,
             "the remaining time is that of the waiting cells");
    tap_ok(
        strstr(sweep_time_text(&time, 1, text, sizeof text), "1 cell that cannot be estimated yet"),
        "and cells without an estimate are mentioned: %s", text);
    sweep_estimate_free(&estimate);
    sweep_free(&sweep);
}

/* --- tables --- */

static void test_tables(void)
{
    struct sweep sweep;
    struct text text = {0};
    make(&sweep, "mlp,lenet", "1,2", NULL);
    finish(&sweep.cells[0], 1);
    sweep.cells[0].result.figures.first_negative_iteration = 3;
    sweep.cells[1].state = SWEEP_CANNOT_FIT;
    error_set(&sweep.cells[1].reason, ERROR_MEMORY, "batch 2", "batch 1 would fit", "too large");
    sweep_write_tables(&sweep, false, &text);
    tap_ok(strstr(text.data, "mlp          2  cannot fit"), "figures and reasons share a table");
    tap_ok(strstr(text.data, "running mean (-: never)\nbatch        1           2\nmlp          3"),
           "the first negative iteration is counted");
    tap_ok(strstr(text.data, ": cannot fit: batch 2: too large; batch 1 would fit"),
           "reasons are listed");
    tap_ok(!strstr(text.data, "Speed-up"), "one device is not compared");
    text_free(&text);
    text = (struct text){0};
    sweep_write_tables(&sweep, true, &text);
    tap_ok(strstr(text.data, "| mlp | 2 | cannot fit |"), "as Markdown, too");
    text_free(&text);
    sweep_free(&sweep);
}

/* A diverged cell has figures except its loss, and a reason that names the layer. */
static void test_diverged(void)
{
    struct sweep sweep;
    struct text text = {0};
    make(&sweep, "mlp", "1,2", NULL);
    finish(&sweep.cells[0], 1);
    finish(&sweep.cells[1], 1);
    sweep.cells[0].state = SWEEP_DIVERGED;
    sweep.cells[0].result.figures.loss = (double)NAN;
    error_set(&sweep.cells[0].reason, ERROR_DIVERGED, "ip1", "a smaller rate", "it broke");
    tap_ok(sweep_is_computed(&sweep.cells[0]) && !sweep_is_due(&sweep, 0) &&
               sweep_count_computed(&sweep) == 2,
           "a diverged cell is computed, and not due");
    sweep_write_tables(&sweep, false, &text);
    tap_ok(strstr(text.data, "mlp    2  2\n"), "its time is in the table");
    tap_ok(strstr(text.data, "Loss at the end\nbatch         1    2\nmlp    diverged  0.5\n"),
           "its loss is a word in the table");
    tap_ok(strstr(text.data, ": diverged: ip1: it broke; a smaller rate\n"),
           "and the cell is named");
    text_free(&text);
    sweep_free(&sweep);
}

/* "lr=0.1,0.01" replaces the setting's earlier values. */
static void test_vary_setting(void)
{
    struct sweep_grid grid;
    struct error error;
    sweep_grid_begin(&grid);
    sweep_grid_vary(&grid, "lr", "1,2,3", NULL);
    tap_ok(sweep_grid_vary_setting(&grid, "lr=0.1,0.01", &error) &&
               sweep_grid_axis(&grid, "lr")->count == 2,
           "a setting with its list");
    tap_ok(!sweep_grid_vary_setting(&grid, "lr", &error) && error.kind == ERROR_USAGE,
           "without a list it is refused: %s", error.why);
    sweep_grid_free(&grid);
}

/* Why a run was killed is read in any language: the file names the cause. */
static void test_cause(void)
{
    struct error error, reason = {.kind = ERROR_SYSTEM, .disk_full = true};
    struct run_snapshot snapshot = {.status = RUN_INTERRUPTED};
    snprintf(reason.why, sizeof reason.why, "Nao ha espaco disponivel no dispositivo");
    tap_ok(file_make_directories(home_path("killed"), &error) &&
               run_killed_write(home_path("killed"), &reason, &error),
           "a kill is recorded");
    run_killed_read(home_path("killed"), &snapshot);
    tap_ok(run_cause_of(&snapshot) == RUN_CAUSE_DISK && strcmp(snapshot.error.why, reason.why) == 0,
           "  with the full disk as its cause");
    static const int full[] = {ENOSPC, EDQUOT, EFBIG}, others[] = {EIO, ENOENT};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        errno = full[i];
        error_set_errno(&error, "a file", NULL, "it cannot be written");
        error.why[0] = '\0'; /* whatever the language */
        tap_ok(run_cause_of_error(&error) == RUN_CAUSE_DISK, "error %d is a full disk", full[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        errno = others[i];
        error_set_errno(&error, "a file", NULL, "it cannot be written");
        tap_ok(run_cause_of_error(&error) == RUN_CAUSE_OTHER, "error %d is none", others[i]);
    }
}

TEST_CASE(sweep_test)
{
    if (!make_home())
        return 99;
    test_order();
    test_ids();
    test_same_ids();
    test_files();
    test_devices();
    test_refusals();
    test_unreadable_run();
    test_estimate();
    test_tables();
    test_diverged();
    test_vary_setting();
    test_cause();
    remove_home();
    return tap_done();
}
