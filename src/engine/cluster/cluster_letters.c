/* Letters between two ranks: two queues, one of letters that wait for the thread of the cluster to
 * send them, and one of those that have come and wait to be taken. MPI sends one message at a time
 * to each rank; a rank whose message has not left yet holds up its own letters only. */
#include "engine/cluster/cluster_internal.h"

#include "base/memory.h"
#include "base/threads/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void append(struct cluster_letters *letters, struct cluster_letter *letter)
{
    if (letters->last)
        letters->last->next = letter;
    else
        letters->first = letter;
    letters->last = letter;
}

/* Returns a letter with its message, owned by the caller, or NULL with an error. */
static struct cluster_letter *letter_new(size_t rank, const char *text, size_t bytes,
                                         struct error *error)
{
    struct cluster_letter *letter = memory_new(1, sizeof *letter, "a message", error);
    if (!letter)
        return NULL;
    letter->rank = rank;
    letter->bytes = bytes + 1;
    letter->message[0] = CLUSTER_IS_LETTER;
    memcpy(letter->message + 1, text, bytes);
    return letter;
}

/* --- any thread --- */

bool cluster_post(struct cluster *cluster, size_t rank, const void *text, size_t bytes,
                  struct error *error)
{
    struct cluster_letter *letter = letter_new(rank, text, bytes, error);
    if (!letter)
        return false;
    pthread_mutex_lock(&cluster->lock);
    append(&cluster->outgoing, letter);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return cluster_check(cluster, error);
}

/* Waits for a letter or a failure, for at most `seconds`. The caller holds the lock. */
static void await_letter(struct cluster *cluster, double seconds)
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
    await_letter(cluster, seconds);
    struct cluster_letter *letter = cluster->incoming.first;
    if (letter) {
        cluster->incoming.first = letter->next;
        if (!letter->next)
            cluster->incoming.last = NULL;
        *rank = letter->rank;
        bytes = letter->bytes - 1 < size ? letter->bytes - 1 : size;
        memcpy(text, letter->message + 1, bytes);
    }
    pthread_mutex_unlock(&cluster->lock);
    free(letter);
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

/* Sends a letter. Returns whether it needs no further attempt. */
static bool send_letter(struct cluster *cluster, const struct cluster_letter *letter)
{
    struct cluster_peer *peer = &cluster->peers[letter->rank];
    if (peer->lost || peer->left)
        return true;
    if (!peer->blocked)
        peer->blocked = !cluster->module->send(letter->rank, letter->message, letter->bytes);
    return !peer->blocked;
}

void cluster_letters_send(struct cluster *cluster)
{
    struct cluster_letter *previous = NULL;
    for (size_t r = 0; r < cluster->place.ranks; r++)
        cluster->peers[r].blocked = false;
    pthread_mutex_lock(&cluster->lock);
    for (struct cluster_letter *letter = cluster->outgoing.first, *next; letter; letter = next) {
        next = letter->next;
        if (!send_letter(cluster, letter)) {
            previous = letter;
            continue;
        }
        *(previous ? &previous->next : &cluster->outgoing.first) = next;
        if (!next)
            cluster->outgoing.last = previous;
        free(letter);
    }
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_letters_wait(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    const bool wait = cluster->outgoing.first;
    pthread_mutex_unlock(&cluster->lock);
    return wait;
}

bool cluster_letters_receive(struct cluster *cluster, size_t rank, const char *message,
                             size_t bytes, struct error *error)
{
    struct cluster_letter *letter = letter_new(rank, message + 1, bytes - 1, error);
    if (!letter)
        return false;
    pthread_mutex_lock(&cluster->lock);
    append(&cluster->incoming, letter);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return true;
}

static void free_all(struct cluster_letters *letters)
{
    for (struct cluster_letter *letter = letters->first, *next; letter; letter = next) {
        next = letter->next;
        free(letter);
    }
    *letters = (struct cluster_letters){0};
}

void cluster_letters_free(struct cluster *cluster)
{
    free_all(&cluster->incoming);
    free_all(&cluster->outgoing);
}
