/* The ranks in tinca devices. Each describes its own machine; rank 0 gathers that and shows it.
 * The facts that must be alike for the same bits are those that a run compares (computed_with.h);
 * the others may differ. The speed of all ranks together is measured on a small network. */
#include "cli/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "training/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char measured_network[] = "lenet";
enum { MEASURED_IMAGES = 16, MEASURED_ITERATIONS = 10 };

/* Trains a small network for some iterations with the other ranks. */
static void measure(struct cluster *cluster, struct devices_rank *rank)
{
    struct run_config config;
    struct bench bench;
    struct error unused;
    config_defaults(&config);
    config_put(&config, KEY(network), measured_network, NULL);
    struct bench_settings settings = bench_settings_of(&config);
    settings.device = "cpu";
    settings.iterations = MEASURED_ITERATIONS;
    settings.batch = MEASURED_IMAGES * cluster_ranks(cluster);
    settings.image_blocks = cluster_ranks(cluster);
    settings.cluster = cluster;
    rank->compute_ms = rank->wait_ms = NAN;
    if (!bench_run(&settings, &bench, &unused))
        return;
    rank->wait_ms = bench.waited_ms;
    rank->compute_ms = fmax(0, bench.ms_per_image.mean * (double)bench.batch - bench.waited_ms);
    bench_free(&bench);
}

static void describe(struct devices_rank *rank)
{
    struct host host;
    host_describe(&host);
    *rank = (struct devices_rank){.set = host_instruction_set(),
                                  .process = (uint64_t)getpid(),
                                  .threads = host.cores,
                                  .memory_bytes = host.memory_bytes};
    snprintf(rank->host, sizeof rank->host, "%.63s", host.name);
    snprintf(rank->cpu, sizeof rank->cpu, "%s", host.cpu);
    computed_with_here(&rank->with, "cpu", PRECISION_FLOAT32);
}

bool devices_ranks_gather(struct cluster *cluster, struct devices_ranks *ranks, struct error *error)
{
    struct devices_rank mine;
    *ranks = (struct devices_ranks){0};
    if (!cluster)
        return true;
    describe(&mine);
    measure(cluster, &mine);
    struct devices_rank *all = memory_new(cluster_ranks(cluster), sizeof *all, "the ranks", error);
    if (!all) {
        cluster_fail(cluster, error);
        return false;
    }
    if (!cluster_gather(cluster, &mine, sizeof mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    ranks->ranks = all;
    ranks->count = cluster_ranks(cluster);
    snprintf(ranks->library, sizeof ranks->library, "%s", cluster_library(cluster));
    ranks->share = cluster_shares_memory(cluster);
    snprintf(ranks->failure, sizeof ranks->failure, "%s", cluster_sharing_failure(cluster));
    return true;
}

void devices_ranks_free(struct devices_ranks *ranks)
{
    free(ranks->ranks);
    *ranks = (struct devices_ranks){0};
}

bool devices_ranks_is_first(const struct devices_ranks *ranks, size_t rank)
{
    for (size_t r = 0; r < rank; r++)
        if (strcmp(ranks->ranks[r].host, ranks->ranks[rank].host) == 0)
            return false;
    return true;
}

static bool add_rank(struct json *list, const struct devices_rank *rank, size_t number)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_count(object, "rank", number) && json_add_string(object, "host", rank->host) &&
           json_add_string(object, "cpu", rank->cpu) &&
           json_add_string(object, "instruction_set", instruction_set_name(rank->set)) &&
           json_add_count(object, "threads", rank->threads) &&
           json_add_count(object, "memory_bytes", rank->memory_bytes) &&
           json_add_string(object, "blas", rank->with.values[COMPUTED_BLAS]) &&
           json_add_count(object, "process", rank->process) &&
           json_add_number(object, "compute_ms", rank->compute_ms) &&
           json_add_number(object, "wait_ms", rank->wait_ms);
}

bool devices_ranks_add(struct json *root, const struct devices_ranks *ranks)
{
    if (ranks->count == 0)
        return true;
    struct json *list = json_add_array(root, "ranks");
    bool added = list && json_add_string(root, "mpi", ranks->library) &&
                 json_add_bool(root, "ranks_share_memory", ranks->share);
    for (size_t r = 0; added && r < ranks->count; r++)
        added = add_rank(list, &ranks->ranks[r], r);
    return added;
}

/* Sets *weakest to the weakest instruction set, and returns the lowest rank whose set is another
 * than that of rank 0; 0: all are alike. */
static size_t find_other(const struct devices_ranks *ranks, enum instruction_set *weakest)
{
    size_t other = 0;
    *weakest = ranks->ranks[0].set;
    for (size_t r = ranks->count - 1; r > 0; r--) {
        if (ranks->ranks[r].set != ranks->ranks[0].set)
            other = r;
        if (ranks->ranks[r].set < *weakest)
            *weakest = ranks->ranks[r].set;
    }
    return other;
}

/* Prints that a run of the ranks is refused, if it is. */
static void print_refusal(const struct devices_ranks *ranks)
{
    const struct computed_with *first = &ranks->ranks[0].with;
    enum instruction_set weakest;
    const size_t other = find_other(ranks, &weakest);
    if (other > 0) {
        output_print(_("A run of them is refused, because the bits would differ: rank %zu has "
                       "another instruction set than rank 0. TINCA_CPU=%s on all makes them "
                       "alike.\n"),
                     other, instruction_set_name(weakest));
        return;
    }
    for (size_t r = 1; r < ranks->count; r++)
        for (size_t i = 0; i < COMPUTED_WITH; i++) {
            const char *value = ranks->ranks[r].with.values[i];
            if (strcmp(value, first->values[i]) == 0)
                continue;
            output_print(_("A run of them is refused, because the bits would differ: rank %zu has "
                           "%s %s, and rank 0 %s.\n"),
                         r, gettext(computed_with_word(i)), value, first->values[i]);
            return;
        }
}

/* Prints what the figures of the table mean. */
static void print_measured(const struct devices_ranks *ranks)
{
    if (!isnan(ranks->ranks[0].compute_ms))
        output_print(_("Milliseconds of an iteration of %s, %d images for each rank: how long it "
                       "computes, and how long it waits for others.\n"),
                     measured_network, MEASURED_IMAGES);
}

/* Prints how the ranks exchange values. */
static void print_exchange(const struct devices_ranks *ranks)
{
    if (ranks->share)
        output_print(_("They exchange values through memory that they share.\n"));
    else if (ranks->failure[0])
        output_print(_("They exchange values over MPI, because shared memory failed: %s\n"),
                     ranks->failure);
    else
        output_print(_("They exchange values over MPI.\n"));
}

int devices_ranks_print(const struct devices_ranks *ranks)
{
    char bytes[32];
    if (ranks->count == 0)
        return EXIT_DONE;
    output_print(ngettext("\n%zu rank, %s:\n", "\n%zu ranks, %s:\n", ranks->count), ranks->count,
                 ranks->library);
    struct table table = table_begin(
        "rlllrrrr", _("RANK|HOST|PROCESSOR|INSTRUCTION SET|THREADS|MEMORY|COMPUTES|WAITS"));
    for (size_t r = 0; r < ranks->count; r++) {
        const struct devices_rank *rank = &ranks->ranks[r];
        table_cell(&table, "%zu", r);
        table_cell(&table, "%s", rank->host);
        table_cell(&table, "%s", rank->cpu);
        table_cell(&table, "%s", instruction_set_name(rank->set));
        table_cell(&table, "%llu", (unsigned long long)rank->threads);
        table_cell(&table, "%s", text_bytes(rank->memory_bytes, bytes, sizeof bytes));
        table_number(&table, "%.3g", rank->compute_ms);
        table_number(&table, "%.3g", rank->wait_ms);
    }
    const int status = output_table(&table);
    print_measured(ranks);
    print_exchange(ranks);
    print_refusal(ranks);
    return status;
}
