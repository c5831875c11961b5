/* A sequence lock (Boehm, "Can seqlocks get along with programming language memory models?", 2012):
 * the writer makes the sequence odd, writes, makes it even; a reader that sees the same even number
 * before and after has a consistent copy. The words are atomic, so that nothing here is a data
 * race; the release stores keep them behind the odd number, the acquire loads before the second
 * look at it. On x86 all of these are plain moves. */
#include "session/record/snapshot.h"

#include <sched.h>
#include <string.h>

void snapshot_publish(struct snapshot_cell *cell, const struct run_snapshot *snapshot)
{
    uint64_t words[SNAPSHOT_WORDS] = {0};
    memcpy(words, snapshot, sizeof *snapshot);
    unsigned sequence = atomic_load_explicit(&cell->sequence, memory_order_relaxed);
    atomic_store_explicit(&cell->sequence, sequence + 1, memory_order_relaxed);
    for (size_t i = 0; i < SNAPSHOT_WORDS; i++)
        atomic_store_explicit(&cell->words[i], words[i], memory_order_release);
    atomic_store_explicit(&cell->sequence, sequence + 2, memory_order_release);
}

void snapshot_read(const struct snapshot_cell *cell, struct run_snapshot *snapshot)
{
    uint64_t words[SNAPSHOT_WORDS];
    for (;;) {
        unsigned before = atomic_load_explicit(&cell->sequence, memory_order_acquire);
        for (size_t i = 0; i < SNAPSHOT_WORDS; i++)
            words[i] = atomic_load_explicit(&cell->words[i], memory_order_acquire);
        unsigned after = atomic_load_explicit(&cell->sequence, memory_order_relaxed);
        if (before == after && before % 2 == 0)
            break;
        sched_yield(); /* the writer may have lost the processor in the middle */
    }
    memcpy(snapshot, words, sizeof *snapshot);
}
