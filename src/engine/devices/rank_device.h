/* rank_device.h: which GPU a process of a cluster uses.
 *
 * Each rank has one GPU. On the device `cuda` it is the one whose number is that of the rank among
 * the ranks of its host; if the launcher shows each rank GPUs of its own (Slurm's --gpus-per-task),
 * it is the first of these.
 */
#ifndef TINCA_ENGINE_DEVICES_RANK_DEVICE_H
#define TINCA_ENGINE_DEVICES_RANK_DEVICE_H

#include "base/error.h"
#include "engine/cluster/cluster.h"
#include "engine/devices/device.h"

/* The place of a rank on its host, and the GPUs that it sees there. */
struct rank_gpus {
    size_t host;              /* the first rank of its host */
    size_t local_rank;        /* among the ranks of its host */
    size_t count;             /* the GPUs that it sees */
    struct pci_address first; /* of its GPU 0 */
    char name[CLUSTER_HOST];  /* of the host */
};

/* Returns whether every rank of `all` has a GPU, and sets the number of that of `rank`. Returns
 * false with an error if a host has fewer GPUs than ranks. */
bool rank_device_number(const struct rank_gpus *all, size_t ranks, size_t rank, size_t *number,
                        struct error *error);

/* Checks that ranks can share batches on a device: GPUs are not named by their numbers. */
bool rank_device_check(const char *device, struct error *error);

/* Writes the device of this rank into `name`, of DEVICE_NAME_SIZE bytes: cuda:1 for cuda; any other
 * device is the same on all ranks, and so is that of a NULL cluster. All ranks call it, with the
 * same device. Returns false, on all of them, with an error. */
bool rank_device_choose(struct cluster *cluster, const char *device, char *name,
                        struct error *error);

#endif
