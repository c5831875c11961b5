/* Linux has a system call for this. Elsewhere the threads sleep on one of a few condition
 * variables, which the address of the word chooses; a thread that sleeps there for another word
 * wakes up for no reason. The sleeper reads the word, and the waker signals, while each has the
 * lock, so that no signal is lost. */
#include "config.h"

#include "base/threads/futex.h"

#if HAVE_LINUX_FUTEX_H && !defined(TINCA_WITHOUT_FUTEX)

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void futex_wait(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#else

#include <pthread.h>
#include <stdint.h>

enum { PLACES = 16 };

#define PLACE                                                                                      \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER                                        \
    }
#define FOUR_PLACES PLACE, PLACE, PLACE, PLACE

static struct place {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} places[PLACES] = {FOUR_PLACES, FOUR_PLACES, FOUR_PLACES, FOUR_PLACES};

static struct place *place_of(const atomic_uint *word)
{
    return &places[((uintptr_t)word >> 6) % PLACES]; /* words that matter have a cache line each */
}

void futex_wait(atomic_uint *word, unsigned value)
{
    struct place *place = place_of(word);
    pthread_mutex_lock(&place->lock);
    if (atomic_load(word) == value)
        pthread_cond_wait(&place->changed, &place->lock);
    pthread_mutex_unlock(&place->lock);
}

void futex_wake(atomic_uint *word)
{
    struct place *place = place_of(word);
    pthread_mutex_lock(&place->lock);
    pthread_cond_broadcast(&place->changed);
    pthread_mutex_unlock(&place->lock);
}

#endif
