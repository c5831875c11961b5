/* The tables of Gondim Santos (2019): accuracy, size and times of networks x techniques x rates on
 * CIFAR, and the networks that draw maps. Runs of these networks on other data, or with other
 * rates, get rows of their own below those of the study. */
#include "studies/tables/internal.h"

#include "base/language.h"
#include "runs/settings/settings.h"
#include "runs/values/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const families[] = {"squeezenet", "resnet20", "resnet56", "resnet110", NULL};
static const char *const suffixes[] = {"", "-dsc", "-shift", "-shuffle"};
static const char *const rates[] = {
    "resnet20-2.5",        "resnet56-2.8",      "resnet20-2.4_block", "resnet110-2.3_block",
    "resnet20-shift-0.35", "resnet56-dsc-0.35", "resnet20-dsc-0.36",  "resnet56-shuffle-0.25"};
static const char *const data_kinds[] = {"cifar10", "cifar100"};
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes, RATES = sizeof rates / sizeof *rates };
enum { KINDS = sizeof data_kinds / sizeof *data_kinds, KIND_SIZE = 64, NAME_SIZE = 64 };

/* Writes the kind of a data specification, what is before ':' or ','. */
static const char *kind_of(const char *data, char *kind)
{
    snprintf(kind, KIND_SIZE, "%.*s", (int)strcspn(data, ":,"), data);
    return kind;
}

/* Returns the latest run of a network on data of a kind; `kind` NULL: on any. */
static const struct compare_row *find(const struct tables *tables, const char *network,
                                      const char *kind)
{
    char its[KIND_SIZE];
    const struct compare_row *found = NULL;
    for (size_t i = 0; i < tables->runs->count; i++) {
        const struct compare_row *row = &tables->runs->rows[i];
        if (tables_is_usable(row) && strcmp(row->network, network) == 0 &&
            (!kind || strcmp(kind_of(data_settings(run_config(row->run)).data, its), kind) == 0))
            found = row;
    }
    return found;
}

/* --- accuracy, size and times --- */

/* Returns the number of images on which the accuracy was measured; 0: unknown. */
static size_t images_of(const struct compare_row *row)
{
    size_t images = 0;
    if (strcmp(row->accuracy, "validation") == 0)
        return run_facts(row->run)->validation_images;
    for (size_t i = 0; i < row->ms.count; i++)
        if (!row->ms.entries[i].stale && row->ms.entries[i].images > images)
            images = row->ms.entries[i].images;
    return images;
}

/* An accuracy in percent, and the number of images that it was measured on; 0: unknown. */
struct share {
    double percent;
    size_t images;
};

/* Returns the top-1 accuracy to set beside the published one: that of the test set, which has
 * chosen nothing, if the run has one; else the best one of its validations, or the measured one. */
static struct share top1_of(const struct compare_row *row)
{
    struct run_snapshot end;
    run_snapshot(row->run, &end);
    return end.test.images > 0 ? (struct share){row->figures.test_top1, (size_t)end.test.images}
                               : (struct share){row->figures.best_top1, images_of(row)};
}

/* Returns the pixel accuracy in the same way. */
static struct share pixels_of(const struct run *run, const struct run_snapshot *end)
{
    return end->test.images > 0
               ? (struct share){end->test.pixel_accuracy, (size_t)end->test.images}
               : (struct share){end->validation.known ? end->validation.pixel_accuracy
                                                      : (double)NAN,
                                run_facts(run)->validation_images};
}

/* Appends an accuracy and its Wilson interval over its images. */
static void add_share(struct tables *tables, struct share share)
{
    double low = NAN, high = NAN;
    if (isfinite(share.percent) && share.images > 0)
        statistics_wilson((size_t)lround(share.percent / 100 * (double)share.images), share.images,
                          &low, &high);
    tables_number(tables, 2, share.percent);
    tables_number(tables, 2, low);
    tables_number(tables, 2, high);
}

static void add_train(struct tables *tables, const char *network, const char *kind, size_t devices)
{
    tables_missing(tables, 5 + 2 * devices,
                   "tinca train %s --preset cifar --data %s:FOLDER --validate %s:FOLDER,split=test",
                   network, kind, kind);
}

static void add_accuracy(struct tables *tables, const struct compare_row *row)
{
    const struct share top1 = top1_of(row);
    if (isfinite(top1.percent))
        add_share(tables, top1);
    else
        tables_missing(tables, 2, "tinca measure %s", row->name);
    tables_number(tables, 0, row->figures.parameters);
    tables_number(tables, 4, 1e3 * top1.percent / row->figures.parameters);
}

static void add_device_time(struct tables *tables, const struct compare_row *row,
                            const char *device)
{
    const struct measurement *time = measurements_find(&row->ms, device);
    if (time) {
        tables_number(tables, 4, time->ms_per_image.mean);
        tables_number(tables, 4, time->ms_per_image.ci95);
        return;
    }
    tables_missing(tables, 1, "tinca measure %s --device %s", row->name, device);
}

static void add_published(struct tables *tables, const char *network, const char *kind)
{
    for (size_t i = 0; strcmp(kind, "cifar10") == 0 && i < published_result_count; i++) {
        const struct published_result *result = &published_results[i];
        char name[NAME_SIZE];
        const bool plain = strcmp(result->technique, "none") == 0;
        snprintf(name, sizeof name, "%s%s%s", result->base, plain ? "" : "-",
                 plain ? "" : result->technique);
        if (strcmp(name, network) != 0)
            continue;
        tables_number(tables, 2, result->top1);
        table_cell(tables->last, "%zu", result->parameters);
        tables_number(tables, 2, result->gpu_ms);
        tables_number(tables, 2, result->cpu_ms);
        return;
    }
    table_fill(tables->last, 4, "");
}

struct devices {
    const char *names[TABLES_DEVICES];
    size_t count;
};

static void add_network(struct tables *tables, const struct devices *devices, const char *network,
                        const char *kind, const struct compare_row *row)
{
    table_cell(tables->last, "%s", network);
    table_cell(tables->last, "%s", kind);
    if (row) {
        table_cell(tables->last, "%s", row->name);
        add_accuracy(tables, row);
        for (size_t d = 0; d < devices->count; d++)
            add_device_time(tables, row, devices->names[d]);
    } else
        add_train(tables, network, kind, devices->count);
    add_published(tables, network, kind);
}

/* Returns whether the study has a row for this network and kind of data. */
static bool is_of_study(const char *network, const char *kind)
{
    bool has_kind = false, has_network = false;
    for (size_t k = 0; k < KINDS; k++)
        has_kind |= strcmp(kind, data_kinds[k]) == 0;
    for (size_t r = 0; r < RATES; r++)
        has_network |= strcmp(network, rates[r]) == 0;
    for (size_t f = 0; families[f]; f++)
        for (size_t t = 0; t < SUFFIXES; t++) {
            char name[NAME_SIZE];
            snprintf(name, sizeof name, "%s%s", families[f], suffixes[t]);
            has_network |= strcmp(network, name) == 0;
        }
    return has_kind && has_network;
}

static void add_further(struct tables *tables, const struct devices *devices)
{
    for (size_t i = 0; i < tables->runs->count; i++) {
        const struct compare_row *row = &tables->runs->rows[i];
        bool belongs = false;
        char kind[KIND_SIZE];
        for (size_t f = 0; tables_is_usable(row) && families[f]; f++)
            belongs |= tables_is_of(row->network, families[f]);
        if (belongs &&
            !is_of_study(row->network, kind_of(data_settings(run_config(row->run)).data, kind)) &&
            find(tables, row->network, kind) == row)
            add_network(tables, devices, row->network, kind, row);
    }
}

static void add_networks_table(struct tables *tables)
{
    struct devices devices;
    struct text headings = {0};
    devices.count = tables_devices(tables, families, devices.names);
    text_append(&headings, "%s", _("network|data|run|top-1 %|95 % from|to|parameters|E_P x 10^-3"));
    for (size_t d = 0; d < devices.count; d++)
        text_append(&headings, "|ms %s|95 %% +-", devices.names[d]);
    text_append(&headings, _("|published top-1 %%|parameters|ms %s|ms %s"), published_gpu,
                published_cpu);
    tables->out_of_memory |= headings.failed;
    tables_begin(tables,
                 _("Accuracy (of the test set, if the run has one), size, and time of one image"),
                 headings.data ? headings.data : "");
    for (size_t k = 0; k < KINDS; k++) {
        char name[NAME_SIZE];
        for (size_t f = 0; families[f]; f++)
            for (size_t t = 0; t < SUFFIXES; t++) {
                snprintf(name, sizeof name, "%s%s", families[f], suffixes[t]);
                add_network(tables, &devices, name, data_kinds[k],
                            find(tables, name, data_kinds[k]));
            }
        for (size_t r = 0; r < RATES; r++)
            add_network(tables, &devices, rates[r], data_kinds[k],
                        find(tables, rates[r], data_kinds[k]));
    }
    add_further(tables, &devices);
    text_free(&headings);
}

/* --- networks that draw maps --- */

static const struct {
    const char *network;
    double pixels, millions; /* published pixel accuracy, parameters of the generator */
} generators[] = {{"pix2pix", 62.18, 54.41},
                  {"pix2pix-dsc", 57.35, 36.14},
                  {"pix2pix-shift", 60.40, 36.06},
                  {"pix2pix-shuffle", 51.59, 35.60}};

static void add_perception(struct tables *tables, const struct study_file *votes,
                           const char *network, const struct compare_row *row)
{
    for (size_t i = 0; i < votes->count; i++) {
        struct study_result result;
        study_result(&votes->studies[i], &result);
        if (strcmp(votes->studies[i].network, network) != 0 || result.voters == 0)
            continue;
        tables_number(tables, 3, result.error_rate);
        tables_number(tables, 3, result.low);
        tables_number(tables, 3, result.high);
        table_cell(tables->last, "%zu", result.voters);
        return;
    }
    tables_missing(tables, 3, "tinca study %s", row ? row->name : "RUN");
}

static void add_generator(struct tables *tables, const struct study_file *votes, size_t index)
{
    struct run_snapshot now;
    const char *network = generators[index].network;
    const struct compare_row *row = find(tables, network, NULL);
    table_cell(tables->last, "%s", network);
    if (row) {
        run_snapshot(row->run, &now);
        table_cell(tables->last, "%s", row->name);
        tables_number(tables, 4, (double)now.loss_l1);
        add_share(tables, pixels_of(row->run, &now));
    } else
        tables_missing(tables, 4, "tinca train %s --preset pix2pix --data maps", network);
    add_perception(tables, votes, network, row);
    tables_number(tables, 0, row ? row->figures.parameters : NAN);
    tables_number(tables, 2, row ? row->figures.model_bytes / 1048576 : NAN);
    tables_number(tables, 2, generators[index].pixels);
    for (size_t i = 0; i < study_published_count; i++)
        if (strcmp(study_published[i].network, network) == 0)
            tables_number(tables, 2, study_published[i].error_rate);
    table_cell(tables->last, "%.2f", generators[index].millions);
}

void tables_gondim(struct tables *tables, const struct study_file *votes)
{
    add_networks_table(tables);
    tables_begin(tables,
                 _("Networks that draw pictures (interval of the pixel accuracy: over the "
                   "pictures, its widest)"),
                 _("network|run|L1|pixel accuracy %|95 % from|to|perceptual rate|95 % from|to|"
                   "voters|parameters|model MiB|published pixel accuracy %|perceptual rate|"
                   "parameters, millions"));
    for (size_t i = 0; i < sizeof generators / sizeof *generators; i++)
        add_generator(tables, votes, i);
}
