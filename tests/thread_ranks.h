/* thread_ranks.h: ranks of a cluster that are threads of the test, with functions of a module
 * (cluster_module.h) that copy gathers and messages between them as MPI does. Each is on a host of
 * its own. The test makes a module of them, and sets thread_ranks.count first.
 */
#ifndef TINCA_TESTS_UNIT_THREAD_RANKS_H
#define TINCA_TESTS_UNIT_THREAD_RANKS_H

#include "engine/cluster/cluster_module.h"

#include <pthread.h>
#include <string.h>

enum { THREAD_RANKS_MOST = 3, THREAD_RANKS_BOX = 1000, THREAD_RANKS_PART = 1024 };

struct thread_message {
    size_t from, bytes;
    char text[CLUSTER_MESSAGE];
};

static struct {
    pthread_mutex_t lock;
    size_t count, joined;
    struct thread_message messages[THREAD_RANKS_MOST][THREAD_RANKS_BOX]; /* by receiver */
    size_t message_counts[THREAD_RANKS_MOST];
    char parts[2][THREAD_RANKS_MOST][THREAD_RANKS_PART]; /* of a gather, and of the one before */
    size_t arrived;                                      /* ranks, in all gathers */
    size_t refuse_every, attempts; /* every such message is refused; 0: none */
} thread_ranks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local size_t thread_rank; /* of the thread of a cluster */
static _Thread_local char *thread_gathered;
static _Thread_local size_t thread_gathers, thread_bytes; /* so far; of the last one */

static bool thread_begin(struct cluster_place *place, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&thread_ranks.lock);
    thread_rank = thread_ranks.joined++;
    pthread_mutex_unlock(&thread_ranks.lock);
    *place = (struct cluster_place){.rank = thread_rank,
                                    .ranks = thread_ranks.count,
                                    .first_local = thread_rank,
                                    .library = "threads"};
    return true;
}

static bool thread_gather(const void *mine, size_t bytes, void *all, char *reason)
{
    (void)reason;
    if (bytes > THREAD_RANKS_PART)
        return false;
    pthread_mutex_lock(&thread_ranks.lock);
    thread_gathers++;
    thread_bytes = bytes;
    memcpy(thread_ranks.parts[thread_gathers % 2][thread_rank], mine, bytes);
    thread_ranks.arrived++;
    pthread_mutex_unlock(&thread_ranks.lock);
    thread_gathered = all;
    return true;
}

static bool thread_test(bool *complete, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&thread_ranks.lock);
    *complete = thread_ranks.arrived >= thread_gathers * thread_ranks.count;
    for (size_t r = 0; *complete && r < thread_ranks.count; r++)
        memcpy(thread_gathered + r * thread_bytes, thread_ranks.parts[thread_gathers % 2][r],
               thread_bytes);
    pthread_mutex_unlock(&thread_ranks.lock);
    return true;
}

static bool thread_send(size_t rank, const void *text, size_t bytes)
{
    pthread_mutex_lock(&thread_ranks.lock);
    const size_t every = thread_ranks.refuse_every;
    const bool refused = every && ++thread_ranks.attempts % every == 0;
    const bool sent = !refused && thread_ranks.message_counts[rank] < THREAD_RANKS_BOX;
    if (sent) {
        struct thread_message *message =
            &thread_ranks.messages[rank][thread_ranks.message_counts[rank]++];
        message->from = thread_rank;
        message->bytes = bytes;
        memcpy(message->text, text, bytes);
    }
    pthread_mutex_unlock(&thread_ranks.lock);
    return sent;
}

static size_t thread_receive(size_t *rank, void *text, size_t size)
{
    size_t bytes = 0;
    pthread_mutex_lock(&thread_ranks.lock);
    if (thread_ranks.message_counts[thread_rank] > 0) {
        struct thread_message *first = thread_ranks.messages[thread_rank];
        *rank = first->from;
        bytes = first->bytes < size ? first->bytes : size;
        memcpy(text, first->text, bytes);
        memmove(first, first + 1, --thread_ranks.message_counts[thread_rank] * sizeof *first);
    }
    pthread_mutex_unlock(&thread_ranks.lock);
    return bytes;
}

#endif
