/* A ring of BLOCKS batches lies between the reading threads and the network. Pictures are numbered;
 * picture n belongs to block n / batch, wherever a prediction begins, so that one that is continued
 * gives the same bits; and block b uses place b %
 * BLOCKS of the ring. A worker takes the next picture as soon as its block is free, that is, once
 * the consumer has finished the block that had the place before. One mutex guards the counters;
 * pixels are written without it, into the place of the picture that was taken. */
#include "models/saved/predictor.h"

#include "base/host/host.h"
#include "base/memory.h"
#include "base/threads/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 3, MAX_WORKERS = 16 };

struct block {
    float *images;
    struct error *errors; /* [batch]; kind ERROR_NONE: the picture was read */
    size_t done;
};

struct predictor {
    const struct predictor_request *request;
    size_t batch, values; /* pictures in a block; numbers in a picture */
    size_t base; /* the first picture of block 0, which is not read if it was done before */
    struct plan *plan;
    struct execution *execution;
    struct block block[BLOCKS];
    pthread_t thread[MAX_WORKERS];
    size_t workers;

    pthread_mutex_t lock; /* guards the members below, and block.done */
    pthread_cond_t freed, ready;
    size_t next;     /* the next picture to read */
    size_t consumed; /* blocks that the consumer has finished */
    bool closing;
};

/* --- reading --- */

static size_t block_of(const struct predictor *predictor, size_t picture)
{
    return (picture - predictor->base) / predictor->batch;
}

/* Returns the number of pictures of a block. */
static size_t block_size(const struct predictor *predictor, size_t number)
{
    const size_t before = predictor->base + number * predictor->batch;
    const size_t left = predictor->request->count - before;
    return left < predictor->batch ? left : predictor->batch;
}

static void read_picture(struct predictor *predictor, size_t picture)
{
    const struct predictor_request *request = predictor->request;
    struct block *block = &predictor->block[block_of(predictor, picture) % BLOCKS];
    const size_t place = picture % predictor->batch;
    float *values = block->images + place * predictor->values;
    block->errors[place].kind = ERROR_NONE;
    if (!model_read_image(request->model, request->paths[picture], values, &block->errors[place]))
        memset(values, 0, predictor->values * sizeof *values);
}

static void *read_pictures(void *context)
{
    struct predictor *predictor = context;
    const size_t count = predictor->request->count;
    pthread_mutex_lock(&predictor->lock);
    while (!predictor->closing && predictor->next < count) {
        const size_t number = block_of(predictor, predictor->next);
        if (number >= predictor->consumed + BLOCKS) {
            pthread_cond_wait(&predictor->freed, &predictor->lock);
            continue;
        }
        const size_t picture = predictor->next++;
        pthread_mutex_unlock(&predictor->lock);
        read_picture(predictor, picture);
        pthread_mutex_lock(&predictor->lock);
        if (++predictor->block[number % BLOCKS].done == block_size(predictor, number))
            pthread_cond_signal(&predictor->ready);
    }
    pthread_mutex_unlock(&predictor->lock);
    return NULL;
}

static bool start_workers(struct predictor *predictor, struct error *error)
{
    struct host host;
    host_describe(&host);
    size_t wanted = host.cores > 2 ? host.cores - 1 : 1;
    wanted = wanted < MAX_WORKERS ? wanted : MAX_WORKERS;
    while (predictor->workers < wanted &&
           thread_start(&predictor->thread[predictor->workers], read_pictures, predictor) == 0)
        predictor->workers++;
    return predictor->workers > 0 ||
           error_set(error, ERROR_SYSTEM, "the pictures", "raise the limit on threads",
                     "no thread to read them could be started");
}

static void stop_workers(struct predictor *predictor)
{
    pthread_mutex_lock(&predictor->lock);
    predictor->closing = true;
    pthread_cond_broadcast(&predictor->freed);
    pthread_mutex_unlock(&predictor->lock);
    for (size_t i = 0; i < predictor->workers; i++)
        pthread_join(predictor->thread[i], NULL);
}

/* --- computing --- */

/* Builds the plan of the largest batch that fits into memory: 32, 16, ... */
static bool make_plan(struct predictor *predictor, struct error *error)
{
    const struct model *model = predictor->request->model;
    struct device *device = model->device;
    const uint64_t room = device->driver->computes_on_host ? host_available_bytes()
                                                           : device_memory_free(device->name);
    const size_t count = predictor->request->count;
    size_t batch = count < PREDICTOR_BATCH ? count : PREDICTOR_BATCH;
    if (!model->network->classes)
        batch = 1; /* as in an evaluation */
    for (;; batch /= 2) {
        const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                               .batch = batch,
                                               .threads = device->threads,
                                               .strict_device = device->strict,
                                               .precision = device->precision,
                                               .device = device,
                                               .machine = &device->machine,
                                               .choices = device->choices};
        predictor->plan = plan_build(&model->network->graph, device->driver, &settings, error);
        if (!predictor->plan)
            return false;
        const uint64_t images = (uint64_t)BLOCKS * batch * predictor->values * sizeof(float);
        const uint64_t needed = predictor->plan->arena.bytes + predictor->plan->prepared_bytes +
                                predictor->plan->forecast.tables + images;
        predictor->batch = batch;
        if (batch == 1 || room == 0 || needed <= room)
            return true;
        plan_free(predictor->plan);
        predictor->plan = NULL;
    }
}

static bool create(struct predictor *predictor, struct error *error)
{
    const struct model *model = predictor->request->model;
    predictor->values = shape_count(model->network->input);
    if (!make_plan(predictor, error))
        return false;
    /* the execution only reads the weights, although its parameter is not const */
    struct weights *weights = (struct weights *)&model->weights;
    predictor->execution =
        execution_create(predictor->plan, model->device, weights, NULL, 0, error);
    for (size_t i = 0; predictor->execution && i < BLOCKS; i++) {
        struct block *block = &predictor->block[i];
        block->images = memory_new_aligned(predictor->batch * predictor->values,
                                           sizeof *block->images, "the pictures", error);
        block->errors = memory_new(predictor->batch, sizeof *block->errors, "the pictures", error);
        if (!block->images || !block->errors)
            return false;
    }
    if (!predictor->execution)
        return false;
    /* the pictures of block 0 that were done before count as read, with zeros */
    predictor->block[0].done = predictor->request->first % predictor->batch;
    predictor->base = predictor->request->first - predictor->block[0].done;
    memset(predictor->block[0].images, 0, predictor->batch * predictor->values * sizeof(float));
    return true;
}

/* Waits until a block is read. */
static struct block *await_block(struct predictor *predictor, size_t number)
{
    struct block *block = &predictor->block[number % BLOCKS];
    pthread_mutex_lock(&predictor->lock);
    while (block->done < block_size(predictor, number))
        pthread_cond_wait(&predictor->ready, &predictor->lock);
    pthread_mutex_unlock(&predictor->lock);
    return block;
}

static void release_block(struct predictor *predictor, struct block *block)
{
    pthread_mutex_lock(&predictor->lock);
    block->done = 0;
    predictor->consumed++;
    pthread_cond_broadcast(&predictor->freed);
    pthread_mutex_unlock(&predictor->lock);
}

static bool compute_block(struct predictor *predictor, size_t number, predictor_watch *watch,
                          predictor_batch_end *batch_end, void *context, struct error *error)
{
    const struct network *network = predictor->request->model->network;
    const size_t size = shape_count(network->graph.nodes[network->graph.output].output);
    struct block *block = await_block(predictor, number);
    const struct execution_batch batch = {.images = block->images,
                                          .count = block_size(predictor, number)};
    execution_bind(predictor->execution, &batch);
    execution_forward(predictor->execution, 0);
    const float *output = execution_output(predictor->execution);
    if (!device_check(predictor->request->model->device, error))
        return false;
    const size_t first = predictor->base + number * predictor->batch;
    const size_t skipped = number == 0 ? predictor->request->first - predictor->base : 0;
    for (size_t i = skipped; i < batch.count; i++) {
        const struct error *broken = block->errors[i].kind ? &block->errors[i] : NULL;
        if (!watch(context, first + i, broken ? NULL : output + i * size, broken, error))
            return false;
    }
    release_block(predictor, block);
    return batch_end(context, error);
}

static bool compute(struct predictor *predictor, predictor_watch *watch,
                    predictor_batch_end *batch_end, void *context, struct error *error)
{
    const size_t blocks = block_of(predictor, predictor->request->count - 1) + 1;
    if (!start_workers(predictor, error))
        return false;
    bool computed = true;
    for (size_t i = 0; computed && i < blocks; i++)
        computed = compute_block(predictor, i, watch, batch_end, context, error);
    stop_workers(predictor);
    return computed;
}

bool predictor_run(const struct predictor_request *request, predictor_watch *watch,
                   predictor_batch_end *batch_end, void *context, struct error *error)
{
    struct predictor predictor = {.request = request, .next = request->first};
    if (request->first >= request->count)
        return true;
    pthread_mutex_init(&predictor.lock, NULL);
    pthread_cond_init(&predictor.freed, NULL);
    pthread_cond_init(&predictor.ready, NULL);
    const bool computed =
        create(&predictor, error) && compute(&predictor, watch, batch_end, context, error);
    for (size_t i = 0; i < BLOCKS; i++) {
        free(predictor.block[i].images);
        free(predictor.block[i].errors);
    }
    execution_free(predictor.execution);
    plan_free(predictor.plan);
    pthread_cond_destroy(&predictor.ready);
    pthread_cond_destroy(&predictor.freed);
    pthread_mutex_destroy(&predictor.lock);
    return computed;
}
