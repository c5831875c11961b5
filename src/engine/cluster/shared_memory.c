/* Creates memory that the ranks of one host share: rank 0 makes an object, all open it by its name,
 * which rank 0 removes, and each rank allocates its own part, so that it lies near the rank's cores
 * where memory is divided among them. */
#include "engine/cluster/shared_memory.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/cluster/cluster_internal.h"

#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct shared_memory {
    char *parts; /* of all ranks */
    size_t ranks;
    size_t bytes; /* of a part: whole pages */
};

static bool refuse(int reason, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "shared memory",
                     "make room in /dev/shm; TINCA_SHARED_MEMORY=0 does without it",
                     "the processes of this host cannot have it (%s)", strerror(reason));
}

/* Makes a new object, and sets its name, or an empty one. Returns its descriptor, or -1. */
static int create_object(char *name)
{
    int descriptor = -1;
    for (int tries = 0; descriptor < 0 && tries < 100; tries++) {
        snprintf(name, CLUSTER_SHARED_NAME, "/tinca-%lx-%llx", (unsigned long)getpid() & 0xffffff,
                 (unsigned long long)clock_nanoseconds() & 0xffffffffff);
        descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor < 0)
        name[0] = '\0';
    return descriptor;
}

/* Sets *descriptor to the same object, without a name, on all ranks. Returns false with an error on
 * all of them if one cannot open it. */
static bool open_object(struct cluster *cluster, int *descriptor, struct error *error)
{
    const bool first = cluster_rank(cluster) == 0;
    char *name = cluster->exchange.name; /* MPI may write to it after a failure */
    *descriptor = first ? create_object(name) : -1;
    bool good = !first || *descriptor >= 0 || refuse(errno, error);
    if (cluster_broadcast(cluster, name, CLUSTER_SHARED_NAME)) {
        if (!first)
            *descriptor = name[0] ? shm_open(name, O_RDWR, 0) : -1;
        good = first || *descriptor >= 0 ? good : refuse(errno, error);
        good = cluster_agree(cluster, good, error);
    } else
        good = cluster_check(cluster, error);
    if (first && name[0])
        shm_unlink(name);
    return good;
}

/* Allocates this rank's part: without that, a full /dev/shm would kill the process when it writes.
 */
static bool allocate_part(const struct shared_memory *memory, int descriptor, size_t rank,
                          struct error *error)
{
    int failed = 0;
#if HAVE_POSIX_FALLOCATE
    do
        failed = posix_fallocate(descriptor, (off_t)(rank * memory->bytes), (off_t)memory->bytes);
    while (failed == EINTR);
#else
    if (rank == 0 && ftruncate(descriptor, (off_t)(memory->ranks * memory->bytes)) != 0)
        failed = errno;
#endif
    return failed == 0 || refuse(failed, error);
}

static bool map_parts(struct shared_memory *memory, int descriptor, struct error *error)
{
    void *parts = mmap(NULL, memory->ranks * memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       descriptor, 0);
    if (parts == MAP_FAILED)
        return refuse(errno, error);
    memory->parts = parts;
    return true;
}

/* Returns memory without parts, for at least a page of each rank. */
static struct shared_memory *new_memory(const struct cluster *cluster, size_t bytes,
                                        struct error *error)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct shared_memory *memory = memory_new(1, sizeof *memory, "shared memory", error);
    if (memory) {
        memory->ranks = cluster_ranks(cluster);
        memory->bytes = (bytes / page + 1) * page;
    }
    return memory;
}

static struct shared_memory *create(struct cluster *cluster, size_t bytes, struct error *error)
{
    int descriptor;
    struct shared_memory *memory = NULL;
    bool good = open_object(cluster, &descriptor, error);
    if (good) {
        memory = new_memory(cluster, bytes, error);
        good = memory && allocate_part(memory, descriptor, cluster_rank(cluster), error);
        /* some systems map no more than there is */
        good = cluster_agree(cluster, good, error);
        good = cluster_agree(cluster, good && map_parts(memory, descriptor, error), error);
    }
    if (descriptor >= 0)
        close(descriptor);
    if (good)
        return memory;
    shared_memory_free(memory);
    return NULL;
}

struct shared_memory *shared_memory_create(struct cluster *cluster, size_t bytes)
{
    struct error error;
    struct cluster_exchange *exchange = &cluster->exchange;
    if (!exchange->may_share)
        return NULL;
    struct shared_memory *memory = create(cluster, bytes, &error);
    snprintf(exchange->failure, sizeof exchange->failure, "%s", memory ? "" : error.why);
    return memory;
}

void *shared_memory_of(const struct shared_memory *memory, size_t rank)
{
    return memory->parts + rank * memory->bytes;
}

void shared_memory_free(struct shared_memory *memory)
{
    if (memory && memory->parts)
        munmap(memory->parts, memory->ranks * memory->bytes);
    free(memory);
}
