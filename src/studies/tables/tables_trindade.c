/* The tables of Trindade (2017): AlexNet and GoogLeNet at batch 1, 2, 4, ... 512 on each device.
 * Times are those of the training iterations; matrix products come from the inspection at a run's
 * end. */
#include "studies/tables/internal.h"

#include "base/language.h"
#include "runs/folder/inspection.h"
#include "runs/settings/settings.h"
#include "runs/values/series.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BATCH_MOST = 512, CURVES_MOST = 64, EPOCHS = 10 };
static const char *const networks[] = {"alexnet", "googlenet", NULL};
static const double mebibyte = 1048576;

static bool is_device(const char *device, const char *wanted)
{
    return strcmp(device, wanted) == 0 ||
           (strcmp(device, "cuda") == 0 && strcmp(wanted, "cuda:0") == 0);
}

/* Returns the latest run of an unchanged network; `batch` 0: the one with the largest batch. */
static const struct compare_row *find(const struct tables *tables, const char *network,
                                      size_t batch, const char *device)
{
    const struct compare_row *found = NULL;
    for (size_t i = 0; i < tables->runs->count; i++) {
        const struct compare_row *row = &tables->runs->rows[i];
        if (!tables_is_usable(row) || strcmp(row->network, network) != 0 ||
            !is_device(machine_settings(run_config(row->run)).device, device))
            continue;
        const size_t its = training_settings(run_config(row->run)).batch;
        if (batch ? its == batch : !found || its >= training_settings(run_config(found->run)).batch)
            found = row;
    }
    return found;
}

static void add_missing(struct tables *tables, const char *network, size_t batch,
                        const char *device, size_t blanks)
{
    tables_missing(tables, blanks,
                   "tinca train %s --preset overfit --data tench --batch %zu --device %s", network,
                   batch, device);
}

/* --- times and memory --- */

static void add_times(struct tables *tables, const char *network, size_t batch, const char *device)
{
    struct statistics times;
    struct run_snapshot now;
    const struct compare_row *row = find(tables, network, batch, device);
    table_cell(tables->last, "%s", network);
    table_cell(tables->last, "%zu", batch);
    table_cell(tables->last, "%s", device);
    if (!row) {
        add_missing(tables, network, batch, device, 6);
        return;
    }
    run_snapshot(row->run, &now);
    tables->out_of_memory |= !timing_of_series(run_series(row->run), &times, NULL);
    tables_number(tables, 4, times.median);
    tables_number(tables, 4, times.mean);
    tables_number(tables, 4, times.ci95);
    tables_number(tables, 1, row->figures.training_memory_bytes / mebibyte);
    tables_number(tables, 1, now.memory_highest ? (double)now.memory_highest / mebibyte : NAN);
    table_cell(tables->last, "%s", data_settings(run_config(row->run)).data);
    table_cell(tables->last, "%s", row->name);
}

static void add_times_table(struct tables *tables, const char *const *devices, size_t count)
{
    tables_begin(tables, _("Time of training and memory by batch"),
                 _("network|batch|device|ms/image, median|mean|95 % +-|planned MiB|peak MiB|data|"
                   "run"));
    for (size_t n = 0; networks[n]; n++)
        for (size_t batch = 1; batch <= BATCH_MOST; batch *= 2)
            for (size_t d = 0; d < count; d++)
                add_times(tables, networks[n], batch, devices[d]);
}

/* --- speed-ups --- */

/* Appends the median of a run, or says that it is missing; NaN in that case. */
static double add_median(struct tables *tables, const struct compare_row *row, const char *network,
                         size_t batch, const char *device)
{
    struct statistics times = {.median = NAN};
    if (!row)
        add_missing(tables, network, batch, device, 0);
    else {
        tables->out_of_memory |= !timing_of_series(run_series(row->run), &times, NULL);
        tables_number(tables, 4, times.median);
    }
    return times.median;
}

static void add_speed_up(struct tables *tables, const char *network, size_t batch, const char *slow,
                         const char *fast)
{
    const struct compare_row *one = find(tables, network, batch, slow),
                             *other = find(tables, network, batch, fast);
    table_cell(tables->last, "%s", network);
    table_cell(tables->last, "%zu", batch);
    table_cell(tables->last, "%s", slow);
    table_cell(tables->last, "%s", fast);
    const double before = add_median(tables, one, network, batch, slow),
                 after = add_median(tables, other, network, batch, fast);
    if (one && other && strcmp(run_facts(one->run)->host, run_facts(other->run)->host) != 0)
        table_cell(tables->last, "%s", _("other machine"));
    else
        tables_number(tables, 2, before / after);
}

static void add_speed_up_table(struct tables *tables, const char *const *devices, size_t count)
{
    tables_begin(tables,
                 _("Speed-up of each pair of devices (ratios without a verdict: measured at "
                   "different times)"),
                 _("network|batch|slow|fast|ms/image slow|ms/image fast|speed-up"));
    for (size_t n = 0; networks[n]; n++)
        for (size_t batch = 1; batch <= BATCH_MOST; batch *= 2)
            for (size_t slow = 0; slow < count; slow++)
                for (size_t fast = slow + 1; fast < count; fast++)
                    add_speed_up(tables, networks[n], batch, devices[slow], devices[fast]);
}

/* --- matrix products --- */

/* Caffe's kernels on a Titan X, of an AlexNet-class workload. */
static const struct {
    enum gemm_kind kind;
    unsigned small_calls, large_calls; /* tiles of 128x64 and of 128x128; 0: not published */
    double small_seconds, large_seconds;
} published[] = {{GEMM_NN, 75264, 10812, 6.90, 1.00},
                 {GEMM_NT, 71680, 0, 4.03, NAN},
                 {GEMM_TN, 71701, 10282, 5.02, 1.22}};

static void add_published_products(struct tables *tables, bool has, size_t kind)
{
    if (!has) {
        table_fill(tables->last, 4, "");
        return;
    }
    table_cell(tables->last, "%u", published[kind].small_calls);
    tables_number(tables, 2, published[kind].small_seconds);
    tables_number(tables, 0,
                  published[kind].large_calls ? published[kind].large_calls : (double)NAN);
    tables_number(tables, 2, published[kind].large_seconds);
}

static void add_products(struct tables *tables, const char *network, const char *device,
                         const struct inspection *inspection, const struct compare_row *row)
{
    for (size_t k = 0; k < sizeof published / sizeof *published; k++) {
        uint64_t calls = 0;
        double seconds = 0;
        for (size_t i = 0; inspection && i < inspection->networks[0].gemm_count; i++)
            if (inspection->networks[0].gemm[i].kind == published[k].kind) {
                calls += inspection->networks[0].gemm[i].calls;
                seconds += inspection->networks[0].gemm[i].seconds;
            }
        table_cell(tables->last, "%s", network);
        table_cell(tables->last, "%s", device);
        table_cell(tables->last, "%s", gemm_kind_name(published[k].kind));
        if (inspection) {
            table_cell(tables->last, "%zu", training_settings(run_config(row->run)).batch);
            table_cell(tables->last, "%" PRIu64, inspection->iterations);
            table_cell(tables->last, "%" PRIu64, calls);
            table_cell(tables->last, "%.6f", seconds);
            table_cell(tables->last, "%s", row->name);
        } else {
            table_fill(tables->last, 2, "");
            add_missing(tables, network, 128, device, 2);
        }
        add_published_products(tables, strcmp(network, "alexnet") == 0, k);
    }
}

static void add_products_table(struct tables *tables, const char *const *devices, size_t count)
{
    tables_begin(tables, _("Matrix products (SGEMM) by kind, seconds summed over threads"),
                 _("network|device|kind|batch|iterations|calls|seconds|run|Caffe 128x64 calls|"
                   "seconds|Caffe 128x128 calls|seconds"));
    for (size_t n = 0; networks[n]; n++)
        for (size_t d = 0; d < count; d++) {
            struct error error;
            const struct compare_row *row = find(tables, networks[n], 0, devices[d]);
            struct inspection *inspection =
                row ? inspection_load(run_facts(row->run)->directory, &error) : NULL;
            add_products(tables, networks[n], devices[d], inspection, row);
            inspection_free(inspection);
        }
}

/* --- the loss --- */

static const double epochs[EPOCHS] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10};

/* Appends the raw losses of the first iterations that reach each of `epochs`. */
static void add_curve(struct tables *tables, const struct compare_row *row)
{
    const struct series *series = run_series(row->run);
    const size_t count = series_count(series);
    size_t at = 0;
    table_cell(tables->last, "%s", row->name);
    table_cell(tables->last, "%s", row->network);
    table_cell(tables->last, "%zu", training_settings(run_config(row->run)).batch);
    table_cell(tables->last, "%s", machine_settings(run_config(row->run)).device);
    for (size_t e = 0; e < EPOCHS; e++) {
        while (at < count && !((double)series->points[at].epoch >= epochs[e] * (1 - 1e-6)))
            at++;
        if (at < count)
            table_cell(tables->last, "%s", TEXT_NUMBER((double)series->points[at].loss, 6));
        else
            table_fill(tables->last, 1, "");
    }
}

static void add_curves_table(struct tables *tables)
{
    size_t shown = 0;
    tables_begin(tables, _("Raw loss by epoch (logarithmic axis)"),
                 _("run|network|batch|device|0.01|0.02|0.05|0.1|0.2|0.5|1|2|5|10"));
    for (size_t i = 0; i < tables->runs->count && shown < CURVES_MOST; i++) {
        const struct compare_row *row = &tables->runs->rows[i];
        for (size_t n = 0; networks[n]; n++)
            if (tables_is_usable(row) && strcmp(row->network, networks[n]) == 0) {
                add_curve(tables, row);
                text_append(&tables->chart, "%s %s",
                            shown ? ""
                                  : "tinca export --format png --x epoch --log x -o curves.png",
                            row->name);
                shown++;
            }
    }
    if (shown > 0)
        return;
    add_missing(tables, "alexnet", 32, "cpu", 3 + EPOCHS);
}

void tables_trindade(struct tables *tables)
{
    const char *devices[TABLES_DEVICES];
    const size_t count = tables_devices(tables, networks, devices);
    add_times_table(tables, devices, count);
    add_speed_up_table(tables, devices, count);
    add_products_table(tables, devices, count);
    add_curves_table(tables);
}
