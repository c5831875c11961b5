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

enum { NAME_SIZE = 32 }; /* macOS allows no longer ones */

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

/* Opens a new object on rank 0, and returns its descriptor; sets the name. */
static int create_object(char *name)
{
    int descriptor = -1;
    for (int tries = 0; descriptor < 0 && tries < 100; tries++) {
        snprintf(name, NAME_SIZE, "/tinca-%lx-%llx", (unsigned long)getpid() & 0xffffff,
                 (unsigned long long)clock_nanoseconds() & 0xffffffffff);
        descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    return descriptor;
}

/* Returns a descriptor of the same object on all ranks, without a name, or -1 on all of them with
 * an error. */
static int open_object(struct cluster *cluster, struct error *error)
{
    const bool first = cluster_rank(cluster) == 0;
    char name[NAME_SIZE] = "";
    int descriptor = first ? create_object(name) : -1;
    const int failed = errno;
    if (!cluster_broadcast(cluster, name, sizeof name)) {
        cluster_check(cluster, error);
    } else {
        if (!first)
            descriptor = shm_open(name, O_RDWR, 0);
        bool good = descriptor >= 0 || refuse(first ? failed : errno, error);
        good = cluster_agree(cluster, good, error);
        if (!good && descriptor >= 0) {
            close(descriptor);
            descriptor = -1;
        }
    }
    if (first && name[0])
        shm_unlink(name);
    return descriptor;
}

/* Allocates this rank's part: without that, a full /dev/shm would kill the process when it writes.
 */
static bool allocate_part(int descriptor, size_t rank, size_t bytes, struct error *error)
{
    int failed;
#if HAVE_POSIX_FALLOCATE
    do
        failed = posix_fallocate(descriptor, (off_t)(rank * bytes), (off_t)bytes);
    while (failed == EINTR);
#else
    failed = ftruncate(descriptor, (off_t)((rank + 1) * bytes)) == 0 ? 0 : errno;
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

static struct shared_memory *create(struct cluster *cluster, size_t bytes, struct error *error)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int descriptor = open_object(cluster, error);
    if (descriptor < 0)
        return NULL;
    struct shared_memory *memory = memory_new(1, sizeof *memory, "shared memory", error);
    bool good = memory;
    if (memory) {
        memory->ranks = cluster_ranks(cluster);
        memory->bytes = (bytes + page - 1) / page * page;
        good = allocate_part(descriptor, cluster_rank(cluster), memory->bytes, error) &&
               map_parts(memory, descriptor, error);
    }
    close(descriptor);
    if (cluster_agree(cluster, good, error))
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
    if (!memory)
        snprintf(exchange->failure, sizeof exchange->failure, "%s", error.why);
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
