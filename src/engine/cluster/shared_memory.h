/* shared_memory.h: memory that the ranks of one host share, a part for each of them.
 *
 * It is an object of POSIX's shared memory. Its name is removed as soon as all ranks have opened
 * it, before it takes any space, so at most an empty object remains when processes are killed.
 */
#ifndef TINCA_ENGINE_CLUSTER_SHARED_MEMORY_H
#define TINCA_ENGINE_CLUSTER_SHARED_MEMORY_H

#include "engine/cluster/cluster.h"

struct shared_memory;

/* Returns zeroed memory with `bytes` for each rank. All ranks call it with the same number. Returns
 * NULL on all of them if one cannot have it (cluster_sharing_failure says why), if the ranks are on
 * several hosts or are not to share memory, or after a failure of the cluster. */
struct shared_memory *shared_memory_create(struct cluster *cluster, size_t bytes);

/* Returns a rank's part, which begins at a page. */
void *shared_memory_of(const struct shared_memory *memory, size_t rank);

/* Frees it for this process. NULL is allowed. */
void shared_memory_free(struct shared_memory *memory);

#endif
