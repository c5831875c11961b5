/* Collectives of several processes, through shared memory that is named by NCCL's unique ID.
 *
 * Each rank has a slot. In a collective it writes its values there once all ranks have read those
 * of the collective before, says so in `posted`, and reads all slots once all ranks have written.
 * Every rank adds in the order of the ranks, so all get the same bits. */
#include "nccl_processes.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

enum { MOST_RANKS = 16 };
static const size_t slot_bytes = (size_t)64 << 20; /* only what is written takes memory */

/* The beginning of the shared memory, which begins as zeros; the slots follow. */
struct shared_state {
    std::atomic<uint32_t> joined;
    struct {
        int number;
        char host[256];
    } gpus[MOST_RANKS];
    struct {
        std::atomic<uint64_t> posted, taken; /* collectives */
        enum kind kind;
        size_t bytes;
    } ranks[MOST_RANKS];
};

struct shared_group {
    shared_state *state;
    char *slots;
    size_t ranks, rank, mapped;
    uint64_t rounds; /* collectives that are complete */
    bool has_posted;
};

bool shared_group_name(char *name, size_t size)
{
    unsigned char random[16];
    FILE *file = fopen("/dev/urandom", "rb");
    const bool good = file && fread(random, sizeof random, 1, file) == 1;
    if (file)
        fclose(file);
    memset(name, 0, size);
    size_t at = (size_t)snprintf(name, size, "/emulated-nccl-");
    for (size_t i = 0; i < sizeof random; i++)
        at += (size_t)snprintf(name + at, size - at, "%02x", random[i]);
    return good;
}

static bool share_gpu(const shared_group *group)
{
    for (size_t i = 0; i < group->ranks; i++)
        for (size_t k = 0; k < i; k++)
            if (group->state->gpus[i].number == group->state->gpus[k].number &&
                strcmp(group->state->gpus[i].host, group->state->gpus[k].host) == 0)
                return true;
    return false;
}

shared_group *shared_group_join(const char *name, size_t ranks, size_t rank, int host_gpu)
{
    const size_t mapped = sizeof(shared_state) + ranks * slot_bytes;
    const int file = ranks <= MOST_RANKS ? shm_open(name, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0)
        return nullptr;
    void *memory = ftruncate(file, (off_t)mapped) == 0
                       ? mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED)
        return nullptr;
    shared_group *group = new shared_group();
    *group = {(shared_state *)memory,
              (char *)memory + sizeof(shared_state),
              ranks,
              rank,
              mapped,
              0,
              false};
    group->state->gpus[rank].number = host_gpu;
    gethostname(group->state->gpus[rank].host, sizeof group->state->gpus[rank].host - 1);
    group->state->joined++;
    while (group->state->joined < ranks)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (rank == 0)
        shm_unlink(name); /* all have opened it */
    if (!share_gpu(group))
        return group;
    shared_group_leave(group);
    return nullptr;
}

void shared_group_leave(shared_group *group)
{
    munmap(group->state, group->mapped);
    delete group;
}

static const char *slot_of(const shared_group *group, size_t rank)
{
    return group->slots + rank * slot_bytes;
}

/* Writes this rank's values. Returns false while another rank still reads those before. */
static bool post(shared_group *group, const collective &what)
{
    auto &mine = group->state->ranks[group->rank];
    for (size_t r = 0; r < group->ranks; r++)
        if (group->state->ranks[r].taken < group->rounds)
            return false;
    if (what.bytes > slot_bytes) {
        fprintf(stderr, "emulator: a collective of %zu bytes is too large\n", what.bytes);
        abort();
    }
    memcpy((char *)slot_of(group, group->rank), what.from, what.bytes);
    mine.kind = what.kind;
    mine.bytes = what.bytes;
    mine.posted = group->rounds + 1;
    return true;
}

static void check_alike(const shared_group *group, const collective &what)
{
    for (size_t r = 0; r < group->ranks; r++)
        if (group->state->ranks[r].kind != what.kind ||
            group->state->ranks[r].bytes != what.bytes) {
            fprintf(stderr, "emulator: the processes enqueue different collectives\n");
            abort();
        }
}

static void read_slots(const shared_group *group, const collective &what)
{
    for (size_t r = 0; what.kind == GATHER && r < group->ranks; r++)
        memcpy((char *)what.to + r * what.bytes, slot_of(group, r), what.bytes);
    for (size_t i = 0; what.kind == AVERAGE && i < what.bytes / sizeof(float); i++) {
        float sum = 0;
        for (size_t r = 0; r < group->ranks; r++)
            sum += ((const float *)slot_of(group, r))[i];
        ((float *)what.to)[i] = sum / (float)group->ranks;
    }
}

bool shared_group_take_part(shared_group *group, const collective &what)
{
    if (!group->has_posted && !post(group, what))
        return false;
    group->has_posted = true;
    for (size_t r = 0; r < group->ranks; r++)
        if (group->state->ranks[r].posted <= group->rounds)
            return false;
    check_alike(group, what);
    read_slots(group, what);
    group->has_posted = false;
    group->state->ranks[group->rank].taken = ++group->rounds;
    return true;
}
