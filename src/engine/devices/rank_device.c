/* Each rank tells the others how many GPUs it sees and on which host it is; from that all compute
 * the same choice for every rank, so that a refusal is the same on all of them. */
#include "engine/devices/rank_device.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/devices/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_gpu(const char *device)
{
    return strncmp(device, device_cuda.name, strlen(device_cuda.name)) == 0;
}

bool rank_device_check(const char *device, struct error *error)
{
    if (!is_gpu(device) || strcmp(device, device_cuda.name) == 0)
        return true;
    return error_set(error, ERROR_USAGE, device,
                     "choose --device cuda; CUDA_VISIBLE_DEVICES says which GPUs of a host take "
                     "part",
                     "each of several processes has the GPU of its number on its host");
}

static bool same_gpu(const struct rank_gpus *a, const struct rank_gpus *b)
{
    return a->host == b->host && a->first.domain == b->first.domain &&
           a->first.bus == b->first.bus && a->first.device == b->first.device;
}

/* Returns whether every rank of a host sees a GPU of its number. */
static bool numbers_suffice(const struct rank_gpus *all, size_t ranks, size_t host)
{
    for (size_t r = 0; r < ranks; r++)
        if (all[r].host == host && all[r].local_rank >= all[r].count)
            return false;
    return true;
}

/* Returns whether every rank of a host sees another GPU first. */
static bool first_ones_differ(const struct rank_gpus *all, size_t ranks, size_t host)
{
    for (size_t r = 0; r < ranks; r++) {
        if (all[r].host == host && (all[r].count == 0 || !all[r].first.known))
            return false;
        for (size_t s = 0; s < r && all[r].host == host; s++)
            if (same_gpu(&all[r], &all[s]))
                return false;
    }
    return true;
}

static bool refuse_host(const struct rank_gpus *all, size_t ranks, size_t host, struct error *error)
{
    size_t local = 0, least = SIZE_MAX;
    char advice[128];
    for (size_t r = 0; r < ranks; r++)
        if (all[r].host == host) {
            local++;
            least = all[r].count < least ? all[r].count : least;
        }
    if (least == 0)
        snprintf(advice, sizeof advice, "%s",
                 _("run tinca devices there; or train on the device cpu"));
    else
        snprintf(advice, sizeof advice,
                 _("start at most %zu ranks on each host (mpirun --map-by ppr:%zu:node)"), least,
                 least);
    return error_set(error, ERROR_UNSUPPORTED, all[host].name, advice,
                     "it has %zu ranks, which need a GPU each, and they see %zu", local, least);
}

bool rank_device_number(const struct rank_gpus *all, size_t ranks, size_t rank, size_t *number,
                        struct error *error)
{
    for (size_t r = 0; r < ranks; r++) {
        const bool numbered = numbers_suffice(all, ranks, all[r].host);
        if (!numbered && !first_ones_differ(all, ranks, all[r].host))
            return refuse_host(all, ranks, all[r].host, error);
        if (r == rank)
            *number = numbered ? all[r].local_rank : 0;
    }
    return true;
}

static struct rank_gpus look(const struct cluster *cluster)
{
    struct device_facts facts = {.name = ""};
    struct rank_gpus mine = {.host = cluster_first_local(cluster),
                             .local_rank = cluster_local_rank(cluster),
                             .count = device_cuda.count()};
    if (mine.count > 0 && device_cuda.describe(0, &facts))
        mine.first = facts.pci;
    snprintf(mine.name, sizeof mine.name, "%s", cluster_host(cluster, cluster_rank(cluster)));
    return mine;
}

bool rank_device_choose(struct cluster *cluster, const char *device, char *name,
                        struct error *error)
{
    size_t number = 0;
    snprintf(name, DEVICE_NAME_SIZE, "%s", device);
    if (!cluster || !is_gpu(device))
        return true;
    if (!rank_device_check(device, error))
        return false;
    const size_t ranks = cluster_ranks(cluster);
    struct rank_gpus *all = memory_new(ranks, sizeof *all, "the ranks", error);
    if (!all) {
        cluster_fail(cluster, error);
        return false;
    }
    const struct rank_gpus mine = look(cluster);
    if (!cluster_gather(cluster, &mine, sizeof mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    const bool good = rank_device_number(all, ranks, cluster_rank(cluster), &number, error);
    free(all);
    if (good)
        snprintf(name, DEVICE_NAME_SIZE, "%s:%zu", device_cuda.name, number);
    return good;
}
