/* Queues the program's messages between two ranks: one queue has messages that the thread of the
 * cluster will send, the other those that have arrived and are not taken yet. MPI sends one message
 * at a time to each rank; a slow rank delays only its own messages. */
#include "engine/cluster/internal.h"

#include "base/memory.h"
#include "base/threads/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void append(struct cluster_message_queue *queue, struct cluster_message *message)
{
    if (queue->last)
        queue->last->next = message;
    else
        queue->first = message;
    queue->last = message;
}

/* Returns a message with this text, owned by the caller, or NULL with an error. */
static struct cluster_message *message_new(size_t rank, const char *text, size_t bytes,
                                           struct error *error)
{
    struct cluster_message *message = memory_new(1, sizeof *message, "a message", error);
    if (!message)
        return NULL;
    message->rank = rank;
    message->bytes = bytes + 1;
    message->text[0] = CLUSTER_IS_PAYLOAD;
    memcpy(message->text + 1, text, bytes);
    return message;
}

/* --- any thread --- */

bool cluster_post(struct cluster *cluster, size_t rank, const void *text, size_t bytes,
                  struct error *error)
{
    struct cluster_message *message = message_new(rank, text, bytes, error);
    if (!message)
        return false;
    pthread_mutex_lock(&cluster->lock);
    append(&cluster->outgoing, message);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return cluster_check(cluster, error);
}

/* Waits for a message or a failure, for at most `seconds`. The caller holds the lock. */
static void await_message(struct cluster *cluster, double seconds)
{
    struct timespec due;
    condition_now(&due);
    const long nanoseconds = due.tv_nsec + (long)((seconds - (double)(time_t)seconds) * 1e9);
    due.tv_sec += (time_t)seconds + nanoseconds / 1000000000;
    due.tv_nsec = nanoseconds % 1000000000;
    while (!cluster->incoming.first && !cluster->failed)
        if (pthread_cond_timedwait(&cluster->changed, &cluster->lock, &due) == ETIMEDOUT)
            break;
}

size_t cluster_take(struct cluster *cluster, double seconds, size_t *rank, void *text, size_t size)
{
    size_t bytes = 0;
    pthread_mutex_lock(&cluster->lock);
    await_message(cluster, seconds);
    struct cluster_message *message = cluster->incoming.first;
    if (message) {
        cluster->incoming.first = message->next;
        if (!message->next)
            cluster->incoming.last = NULL;
        *rank = message->rank;
        bytes = message->bytes - 1 < size ? message->bytes - 1 : size;
        memcpy(text, message->text + 1, bytes);
    }
    pthread_mutex_unlock(&cluster->lock);
    free(message);
    return bytes;
}

void cluster_tolerate_losses(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->tolerant = true;
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_is_lost(struct cluster *cluster, size_t rank)
{
    pthread_mutex_lock(&cluster->lock);
    const bool lost = cluster->peers[rank].lost;
    pthread_mutex_unlock(&cluster->lock);
    return lost;
}

/* --- the thread --- */

/* Sends a message. Returns whether it needs no further attempt. */
static bool send_message(struct cluster *cluster, const struct cluster_message *message)
{
    struct cluster_peer *peer = &cluster->peers[message->rank];
    if (peer->lost || peer->left)
        return true;
    if (!peer->blocked)
        peer->blocked = !cluster->module->send(message->rank, message->text, message->bytes);
    return !peer->blocked;
}

void cluster_messages_send(struct cluster *cluster)
{
    struct cluster_message *previous = NULL;
    for (size_t r = 0; r < cluster->place.ranks; r++)
        cluster->peers[r].blocked = false;
    pthread_mutex_lock(&cluster->lock);
    for (struct cluster_message *message = cluster->outgoing.first, *next; message;
         message = next) {
        next = message->next;
        if (!send_message(cluster, message)) {
            previous = message;
            continue;
        }
        *(previous ? &previous->next : &cluster->outgoing.first) = next;
        if (!next)
            cluster->outgoing.last = previous;
        free(message);
    }
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_messages_wait(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    const bool wait = cluster->outgoing.first;
    pthread_mutex_unlock(&cluster->lock);
    return wait;
}

bool cluster_messages_receive(struct cluster *cluster, size_t rank, const char *text, size_t bytes,
                              struct error *error)
{
    struct cluster_message *message = message_new(rank, text + 1, bytes - 1, error);
    if (!message)
        return false;
    pthread_mutex_lock(&cluster->lock);
    append(&cluster->incoming, message);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return true;
}

static void free_all(struct cluster_message_queue *queue)
{
    for (struct cluster_message *message = queue->first, *next; message; message = next) {
        next = message->next;
        free(message);
    }
    *queue = (struct cluster_message_queue){0};
}

void cluster_messages_free(struct cluster *cluster)
{
    free_all(&cluster->incoming);
    free_all(&cluster->outgoing);
}
