/* shared_collectives.h: a barrier, a broadcast and an all-gather of the ranks of one host, in
 * memory that they share, without their threads for MPI. Internal to engine/cluster. */
#ifndef TINCA_ENGINE_CLUSTER_SHARED_COLLECTIVES_H
#define TINCA_ENGINE_CLUSTER_SHARED_COLLECTIVES_H

#include "engine/cluster/cluster.h"

struct shared_collectives;

enum { SHARED_BYTES = 1 << 16 }; /* the most that a rank gives to a broadcast or a gather */

/* Returns what all ranks need for their collectives; all of them call it. Returns NULL on all of
 * them where they cannot share memory (shared_memory_create). */
struct shared_collectives *shared_collectives_create(struct cluster *cluster);

/* Frees them. NULL is allowed. */
void shared_collectives_free(struct shared_collectives *shared);

/* Waits until all ranks have called it as often as this one, and sees what they have written
 * before. Returns false after a failure of the cluster. */
bool shared_barrier(struct shared_collectives *shared);

/* Broadcasts as cluster_broadcast does, at most SHARED_BYTES; rank 0 does not wait for the others.
 */
bool shared_broadcast(struct shared_collectives *shared, void *data, size_t bytes);

/* Gathers as cluster_gather does, at most SHARED_BYTES. */
bool shared_gather(struct shared_collectives *shared, const void *mine, size_t bytes, void *all);

#endif
