/* Training on several cards.
 *
 * The batch is cut into as many equal parts, in the order of its images. Each card has an ordinary
 * execution of the same plan for its part, with weights, solver's state and a recording of its own,
 * and a thread that asks it; the caller's is that of the first one. What makes them one:
 *
 *   - batch norm gathers the statistics of all parts, so that they are the batch's (batch_norm.cu);
 *     dropout counts the batch's images (dropout.cu);
 *   - the losses of all images are gathered, so that all cards judge the same numbers;
 *   - the gradients are averaged before the update, which all do alike: the weights stay equal.
 *
 * The host's copies of weights and state are the first card's. They go to all cards when they were
 * changed, and are fetched from the first. A thread with nothing to do looks at its card now and
 * then: others could be waiting for it. */
#include "engine/execution/execution_inside.h"

#include "base/memory.h"
#include "engine/devices/device_backend.h"
#include "engine/devices/device_buffer.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WATCH_NANOSECONDS = 50000000 };

struct card {
    struct execution_group *group;
    struct execution *execution;
    size_t number;          /* its part of the batch */
    struct weights weights; /* of the others: the first one's values, with a copy of their own */
    pthread_t thread;
    float loss;
    const float *output;
    size_t broken; /* what was found of a layer */
    bool in_weights;
};

struct execution_group {
    struct card cards[DEVICE_MAX_RANKS]; /* the first one's execution is the caller's */
    size_t count, threads;               /* threads that were started */
    uint64_t weights_seen;               /* changes of the host's weights that all cards know of */
    float *output;                       /* here; NULL until somebody asks for it */

    /* What all are asked for; constant while they work. */
    void (*work)(struct card *card);
    struct execution_batch batch;
    uint64_t iteration;
    float learning_rate;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t asked; /* how often work was given out */
    size_t busy;    /* others that are at it */
    bool ending;
};

/* --- threads --- */

/* Waits for a change, with the lock held; looks at the card when none comes. */
static void wait_for_change(struct card *card)
{
    struct execution_group *group = card->group;
    struct device *device = card->execution->device;
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    due.tv_nsec += WATCH_NANOSECONDS;
    due.tv_sec += due.tv_nsec / 1000000000;
    due.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&group->changed, &group->lock, &due) != ETIMEDOUT)
        return;
    pthread_mutex_unlock(&group->lock);
    device->driver->backend->poll(device);
    pthread_mutex_lock(&group->lock);
}

static void *attend(void *context)
{
    struct card *card = context;
    struct execution_group *group = card->group;
    uint64_t done = 0;
    pthread_mutex_lock(&group->lock);
    while (!group->ending) {
        if (group->asked == done) {
            wait_for_change(card);
            continue;
        }
        done++;
        pthread_mutex_unlock(&group->lock);
        group->work(card);
        pthread_mutex_lock(&group->lock);
        if (--group->busy == 0)
            pthread_cond_broadcast(&group->changed);
    }
    pthread_mutex_unlock(&group->lock);
    return NULL;
}

/* All cards do it; returns when all are done with asking. */
static void work_all(struct execution_group *group, void (*work)(struct card *card))
{
    for (size_t i = 1; i < group->count; i++)
        group->ranks[i].execution->solver_step = group->ranks[0].execution->solver_step;
    pthread_mutex_lock(&group->lock);
    group->work = work;
    group->busy = group->count - 1;
    group->asked++;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    work(&group->ranks[0]);
    pthread_mutex_lock(&group->lock);
    while (group->busy > 0)
        wait_for_change(&group->ranks[0]);
    pthread_mutex_unlock(&group->lock);
}

static bool start_thread(struct card *card, struct error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&card->thread, NULL, attend, card);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ||
           error_set(error, ERROR_SYSTEM, card->execution->device->name, "end other programs",
                     "no thread can be made: %s", strerror(code));
}

static void make_lock(struct execution_group *group)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&group->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&group->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* --- creation --- */

static bool make_card(struct card *card, const struct execution *first, uint64_t seed,
                      struct error *error)
{
    struct device *device = first->device->others[card->number - 1];
    card->weights =
        (struct weights){.graph = first->weights->graph, .values = first->weights->values};
    card->execution = execution_create_one(first->plan, device, &card->weights, &first->solver,
                                           seed, (struct execution *)first, error);
    return card->execution;
}

static bool make_cards(struct execution_group *group, struct execution *first, uint64_t seed,
                       struct error *error)
{
    group->ranks[0] = (struct card){.group = group, .execution = first};
    for (size_t i = 1; i < group->count; i++) {
        group->ranks[i] = (struct card){.group = group, .number = i};
        if (!make_card(&group->ranks[i], first, seed, error))
            return false;
    }
    while (group->threads + 1 < group->count) {
        if (!start_thread(&group->ranks[group->threads + 1], error))
            return false;
        group->threads++;
    }
    return true;
}

bool execution_group_create(struct execution *first, uint64_t seed, struct error *error)
{
    struct device *device = first->device;
    struct execution_group *group;
    assert(first->plan->ranks == device->other_count + 1 && !first->plan->frozen);
    if (!device->driver->backend->join(device, error))
        return false;
    group = memory_new(1, sizeof *group, "the execution", error);
    if (!group) {
        device->driver->backend->part(device);
        return false;
    }
    make_lock(group);
    group->count = first->plan->ranks;
    first->group = group;
    group->weights_seen = first->weights->buffer->changes;
    return weights_fetch(first->weights, error) && make_cards(group, first, seed, error);
}

static void end_threads(struct execution_group *group)
{
    pthread_mutex_lock(&group->lock);
    group->ending = true;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    for (size_t i = 1; i <= group->threads; i++)
        pthread_join(group->ranks[i].thread, NULL);
    pthread_mutex_destroy(&group->lock);
    pthread_cond_destroy(&group->changed);
}

/* Recordings end before what they were recorded with. */
void execution_group_free(struct execution *first)
{
    struct execution_group *group = first->group;
    struct device *device = first->device;
    end_threads(group);
    for (size_t i = 1; i < group->count; i++) {
        struct card *card = &group->ranks[i];
        if (card->execution)
            execution_free_one(card->execution);
        device_buffer_free(card->weights.buffer);
    }
    execution_free_one(first);
    device->driver->backend->part(device);
    free(group->output);
    free(group);
}

/* --- batches --- */

static void bind_part(struct card *card)
{
    const struct execution_batch *whole = &card->group->batch;
    const struct graph *graph = card->execution->plan->graph;
    const size_t count = whole->count / card->group->count, from = card->number * count;
    struct execution_batch part = {
        .images = whole->images + from * shape_count(graph->nodes[0].output), .count = count};
    if (whole->labels)
        part.labels = whole->labels + from;
    if (whole->targets)
        part.targets = whole->targets + from * shape_count(graph->nodes[graph->output].output);
    execution_remote_bind(card->execution, &part);
}

void execution_group_bind(struct execution *first, const struct execution_batch *batch)
{
    assert(batch->count % first->group->count == 0);
    first->group->batch = *batch;
    work_all(first->group, bind_part);
}

/* --- passes --- */

/* The host's weights may have been changed by somebody who knows of no other cards. */
static void share_weights(struct execution *first)
{
    struct execution_group *group = first->group;
    const uint64_t changes = first->weights->buffer->changes;
    for (size_t i = 1; changes != group->weights_seen && i < group->count; i++)
        weights_mark_changed(&group->ranks[i].weights);
    group->weights_seen = changes;
}

static void forward_part(struct card *card)
{
    execution_remote_forward(card->execution, card->group->iteration);
}

static void backward_part(struct card *card)
{
    execution_remote_backward(card->execution);
}

static void update_part(struct card *card)
{
    execution_remote_update(card->execution, card->group->learning_rate);
}

static void iterate_part(struct card *card)
{
    card->loss = execution_remote_iterate(card->execution, card->group->iteration,
                                          card->group->learning_rate);
}

static void wait_part(struct card *card)
{
    struct device *device = card->execution->device;
    device->driver->backend->wait(device);
}

void execution_group_forward(struct execution *first, uint64_t iteration)
{
    share_weights(first);
    first->group->iteration = iteration;
    work_all(first->group, forward_part);
}

void execution_group_backward(struct execution *first)
{
    work_all(first->group, backward_part);
}

void execution_group_update(struct execution *first, float learning_rate)
{
    first->group->learning_rate = learning_rate;
    work_all(first->group, update_part);
}

/* A profile is the first card's: it alone stops after each pass, and the others must not run ahead
 * into passes that it may not come to. */
static float iterate_measured(struct execution *first, uint64_t iteration, float learning_rate)
{
    execution_group_forward(first, iteration);
    const float loss = execution_loss(first);
    if (!isfinite(loss))
        return loss;
    execution_group_backward(first);
    execution_update(first, learning_rate);
    return loss;
}

float execution_group_iterate(struct execution *first, uint64_t iteration, float learning_rate)
{
    struct execution_group *group = first->group;
    if (first->profile)
        return iterate_measured(first, iteration, learning_rate);
    share_weights(first);
    group->iteration = iteration;
    group->learning_rate = learning_rate;
    work_all(group, iterate_part);
    return group->ranks[0].loss;
}

void execution_group_wait(struct execution *first)
{
    work_all(first->group, wait_part);
}

void execution_group_touch(struct execution *first)
{
    for (size_t i = 0; i < first->group->count; i++)
        execution_remote_touch(first->group->ranks[i].execution);
}

/* --- results --- */

static void output_part(struct card *card)
{
    card->output = execution_remote_output(card->execution);
}

/* NULL: there is no memory for it. */
const float *execution_group_output(const struct execution *first)
{
    struct execution_group *group = first->group;
    const struct graph *graph = first->plan->graph;
    const size_t values = shape_count(graph->nodes[graph->output].output);
    const size_t part = first->batch.count * values;
    if (!group->output)
        group->output = memory_new_aligned(group->count * first->plan->batch * values,
                                           sizeof *group->output, "the network's output", NULL);
    work_all(group, output_part);
    for (size_t i = 0; group->output && i < group->count; i++)
        memcpy(group->output + i * part, group->ranks[i].output, part * sizeof *group->output);
    return group->output;
}

/* Each card looks at its own images, with their own statistics. */
static void look_part(struct card *card)
{
    struct device *device = card->execution->device;
    const struct device_backend *remote = device->driver->backend;
    remote->set_standalone(device, true);
    card->broken =
        execution_find_broken(card->execution, card->group->iteration, &card->in_weights);
    remote->wait(device);
    remote->set_standalone(device, false);
}

size_t execution_group_find_broken(struct execution *first, uint64_t iteration, bool *in_weights)
{
    struct execution_group *group = first->group;
    const struct card *earliest = &group->ranks[0];
    group->iteration = iteration;
    work_all(group, look_part);
    for (size_t i = 1; i < group->count; i++)
        if (group->ranks[i].broken < earliest->broken)
            earliest = &group->ranks[i];
    *in_weights = earliest->in_weights;
    /* each has moved its running statistics by its own images */
    weights_fetch(first->weights, NULL);
    for (size_t i = 1; i < group->count; i++)
        weights_mark_changed(&group->ranks[i].weights);
    return earliest->broken;
}
