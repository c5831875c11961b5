/* nccl_processes.h: collectives of emulated GPUs of which each belongs to another process.
 */
#ifndef TINCA_TESTS_NCCL_PROCESSES_H
#define TINCA_TESTS_NCCL_PROCESSES_H

#include <cstddef>

enum kind { GATHER, AVERAGE };
struct collective {
    enum kind kind;
    const void *from;
    void *to;
    size_t bytes;
};

struct shared_group;

/* Writes a name that no other group has. Returns false if there are no random numbers. */
bool shared_group_name(char *name, size_t size);

/* Joins the group of that name and waits for all of its processes. Returns NULL if there is no
 * shared memory, or if two processes have the same GPU of the same host, which NCCL refuses, too.
 * Hosts are told apart by their names. */
shared_group *shared_group_join(const char *name, size_t ranks, size_t rank, int host_gpu);
void shared_group_leave(shared_group *group);

/* Takes part in the next collective of the group. Returns whether it is complete; if not, call it
 * again. */
bool shared_group_take_part(shared_group *group, const collective &what);

#endif
