/* The stream waits at a gate while the host enqueues a pass that is profiled. Otherwise the GPU
 * waits for the host between the kernels of a layer, and the layer's time is that of the host: in a
 * replayed graph, as in training, there is no such wait.
 *
 * A host function on the stream waits until the host has enqueued the pass and opens the gate,
 * which it does at the latest before it waits for the stream. The queue of a stream is finite, and
 * a full one stops the host: so the function goes on by itself after a while. */
#include "engine/devices/cuda/context.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { LONGEST_WAIT = 200000000 }; /* nanoseconds */

struct cuda_gate {
    pthread_mutex_t mutex;
    pthread_cond_t opens;
    unsigned closed;  /* waits that were enqueued */
    unsigned opened;  /* those of them that may end */
    unsigned reached; /* those that the stream has reached */
};

static struct timespec deadline(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += LONGEST_WAIT;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void CUDART_CB wait_here(void *data)
{
    struct cuda_gate *gate = (struct cuda_gate *)data;
    const struct timespec last = deadline();
    pthread_mutex_lock(&gate->mutex);
    const unsigned number = ++gate->reached;
    while (gate->opened < number &&
           pthread_cond_timedwait(&gate->opens, &gate->mutex, &last) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&gate->mutex);
}

static struct cuda_gate *create(void)
{
    struct cuda_gate *gate = (struct cuda_gate *)calloc(1, sizeof *gate);
    pthread_condattr_t attributes;
    if (!gate || pthread_condattr_init(&attributes) != 0) {
        free(gate);
        return NULL;
    }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->opens, &attributes);
    pthread_condattr_destroy(&attributes);
    return gate;
}

void cuda_gate_close(struct cuda_context *context)
{
    if (!context->gate)
        context->gate = create();
    struct cuda_gate *gate = context->gate;
    if (!gate) /* the profile has the host's times in it */
        return;
    pthread_mutex_lock(&gate->mutex);
    gate->closed++;
    pthread_mutex_unlock(&gate->mutex);
    cuda_note(context, "cudaLaunchHostFunc", cudaLaunchHostFunc(context->stream, wait_here, gate));
}

void cuda_gate_open(struct cuda_context *context)
{
    struct cuda_gate *gate = context->gate;
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    gate->opened = gate->closed;
    pthread_cond_broadcast(&gate->opens);
    pthread_mutex_unlock(&gate->mutex);
}

void cuda_gate_free(struct cuda_context *context)
{
    struct cuda_gate *gate = context->gate;
    if (!gate)
        return;
    cuda_gate_open(context);
    cudaStreamSynchronize(context->stream); /* the function may be waiting */
    pthread_cond_destroy(&gate->opens);
    pthread_mutex_destroy(&gate->mutex);
    free(gate);
    context->gate = NULL;
}
