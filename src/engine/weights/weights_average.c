/* Averages in host memory on the threads of the pool. If a device with memory of its own computes
 * with the weights, the average is on that device, too, and only the copies there change: the host
 * reads them when it fetches the average (weights_fetch). */
#include "engine/weights/weights_average.h"

#include "base/threads/pool.h"
#include "engine/devices/device_backend.h"
#include "engine/devices/device_buffer.h"

#include <assert.h>
#include <string.h>

enum { AVERAGE_BLOCK = 1 << 15 }; /* values per task */

struct averaging {
    float *average;
    const float *weights;
    float share; /* weight of the new values in the average */
    size_t count;
};

/* Averages a block like torch.lerp, which changes its formula at a share of a half. */
static void average_block(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct averaging *work = context;
    const size_t first = task * AVERAGE_BLOCK;
    const size_t end = work->count - first < AVERAGE_BLOCK ? work->count : first + AVERAGE_BLOCK;
    const float share = work->share, *weights = work->weights;
    float *average = work->average;
    if (share < 0.5f)
        for (size_t i = first; i < end; i++)
            average[i] += share * (weights[i] - average[i]);
    else
        for (size_t i = first; i < end; i++)
            average[i] = weights[i] - (weights[i] - average[i]) * (1 - share);
}

static void copy_statistics(struct weights *average, const struct weights *weights)
{
    const struct graph *graph = weights->graph;
    memcpy(average->values + graph->learnable_floats, weights->values + graph->learnable_floats,
           (graph->total_floats - graph->learnable_floats) * sizeof *weights->values);
}

/* --- on a device with memory of its own --- */

/* Averages the learnable values of the device's copies, and copies the statistics. */
static void average_on_device(struct weights *average, const struct weights *weights, float share)
{
    struct device *device = weights->buffer->device;
    const struct device_backend *backend = device->driver->backend;
    const size_t learnable = weights->graph->learnable_floats;
    assert(average->buffer && average->buffer->device == device);
    device_buffer_send(weights->buffer);
    device_buffer_send(average->buffer);
    float *to = average->buffer->on_device;
    const float *from = weights->buffer->on_device;
    backend->average(device, to, from, share, learnable);
    backend->average(device, to + learnable, from + learnable, 1,
                     weights->graph->total_floats - learnable);
    device_buffer_touch_device(average->buffer);
    weights_mark_updated(average);
}

/* --- anywhere --- */

void weights_average_begin(struct weights *average, const struct weights *weights)
{
    if (weights->buffer) {
        average_on_device(average, weights, 1);
        return;
    }
    memcpy(average->values, weights->values,
           weights->graph->total_floats * sizeof *weights->values);
    weights_mark_changed(average);
}

void weights_average_update(struct weights *average, const struct weights *weights, double decay,
                            struct pool *pool)
{
    struct averaging work = {.average = average->values,
                             .weights = weights->values,
                             .share = (float)(1 - decay),
                             .count = weights->graph->learnable_floats};
    if (weights->buffer) {
        average_on_device(average, weights, work.share);
        return;
    }
    pool_run(pool, (work.count + AVERAGE_BLOCK - 1) / AVERAGE_BLOCK, average_block, &work);
    copy_statistics(average, weights);
    weights_mark_changed(average);
}

void weights_average_restore(struct weights *average, const struct weights *weights)
{
    copy_statistics(average, weights);
    weights_mark_changed(average);
}
