/* The ranks in tinca devices. Each describes its own machine; rank 0 gathers that and shows it.
 * What must be alike for the same bits is the instruction set; the rest may differ. */
#include "cli/devices_ranks.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
}

bool devices_ranks_gather(struct cluster *cluster, struct devices_ranks *ranks, struct error *error)
{
    struct devices_rank mine;
    *ranks = (struct devices_ranks){0};
    if (!cluster)
        return true;
    describe(&mine);
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
           json_add_count(object, "process", rank->process);
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
    struct table table =
        table_begin("rlllrr", _("RANK|HOST|PROCESSOR|INSTRUCTION SET|THREADS|MEMORY"));
    for (size_t r = 0; r < ranks->count; r++) {
        const struct devices_rank *rank = &ranks->ranks[r];
        table_cell(&table, "%zu", r);
        table_cell(&table, "%s", rank->host);
        table_cell(&table, "%s", rank->cpu);
        table_cell(&table, "%s", instruction_set_name(rank->set));
        table_cell(&table, "%llu", (unsigned long long)rank->threads);
        table_cell(&table, "%s", text_bytes(rank->memory_bytes, bytes, sizeof bytes));
    }
    const int status = table_print(&table);
    print_exchange(ranks);
    enum instruction_set weakest;
    const size_t other = find_other(ranks, &weakest);
    if (other > 0)
        output_print(_("A run of them is refused, because the bits would differ: rank %zu has "
                       "another instruction set than rank 0. TINCA_CPU=%s on all makes them "
                       "alike.\n"),
                     other, instruction_set_name(weakest));
    return status;
}
