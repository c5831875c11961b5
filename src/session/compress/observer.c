/* The observed values are flattened, and the vectors concatenated in as many levels as the number
 * of a node's inputs needs. The copied graph has the parameters of the original, in the same
 * places. */
#include "session/compress/observer.h"

#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"

#include <stdio.h>
#include <stdlib.h>

/* The values of a batch, and its images, shall not take more. */
enum { BATCH_BYTES = 128 << 20, BATCH_MOST = 32 };

/* Adds a node behind the copied ones; its number in *added. */
static bool add_node(struct graph *graph, const struct op *op, const size_t *inputs, size_t count,
                     size_t *added, struct error *error)
{
    char name[NODE_NAME_SIZE];
    snprintf(name, sizeof name, "observer %zu", graph->node_count);
    return graph_add(graph, op, name, inputs, count, NULL, added, error);
}

/* Joins vectors[0..count) into one, in order, by as many levels as are needed. */
static bool join(struct graph *graph, size_t *vectors, size_t count, struct error *error)
{
    while (count > 1) {
        size_t joined = 0;
        for (size_t i = 0; i < count; i += NODE_MAX_INPUTS) {
            const size_t some = count - i < NODE_MAX_INPUTS ? count - i : NODE_MAX_INPUTS;
            size_t added = vectors[i];
            if (some > 1 && !add_node(graph, &op_concat, vectors + i, some, &added, error))
                return false;
            vectors[joined++] = added;
        }
        count = joined;
    }
    return true;
}

static bool copy_needed(struct graph_copy *copy, const struct graph *graph, struct error *error)
{
    bool copied = graph_copy_begin(copy, graph, error);
    if (copied)
        graph_mark_ancestors(graph, graph->output, copy->wanted);
    for (size_t i = 1; copied && i < graph->node_count; i++)
        copied = !copy->wanted[i] || graph_copy_add(copy, i, NULL, error);
    return copied;
}

static bool make_graph(struct observer *observer, const struct graph *graph, const size_t *nodes,
                       struct error *error)
{
    struct graph_copy copy;
    size_t *vectors = memory_new(observer->count, sizeof *vectors, "the observer", error);
    bool made = vectors && copy_needed(&copy, graph, error);
    for (size_t i = 0; made && i < observer->count; i++) {
        observer->offsets[i + 1] =
            observer->offsets[i] + shape_count(graph->nodes[nodes[i]].output);
        made = add_node(&copy.graph, &op_flatten, &copy.map[nodes[i]], 1, &vectors[i], error);
    }
    made = made && join(&copy.graph, vectors, observer->count, error) &&
           graph_finish(&copy.graph, error);
    if (made) {
        observer->graph = copy.graph;
        copy.graph = (struct graph){0};
    }
    if (vectors)
        graph_copy_free(&copy);
    free(vectors);
    return made;
}

/* Returns the images of a batch whose values take so many bytes for each. */
static size_t batch_for(uint64_t bytes)
{
    const uint64_t fitting = BATCH_BYTES / (bytes ? bytes : 1);
    return fitting < 1 ? 1 : fitting < BATCH_MOST ? (size_t)fitting : BATCH_MOST;
}

static bool make_plan(struct observer *observer, struct device *device, struct weights *weights,
                      struct error *error)
{
    observer->batch = batch_for(observer->offsets[observer->count] * sizeof(float));
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = observer->batch,
                                           .threads = device->threads,
                                           .device = device,
                                           .machine = &device->machine};
    observer->plan = plan_build(&observer->graph, device->driver, &settings, error);
    observer->execution =
        observer->plan ? execution_create(observer->plan, device, weights, NULL, 0, error) : NULL;
    return observer->execution;
}

bool observer_open(struct observer *observer, const struct graph *graph, const size_t *nodes,
                   size_t count, struct device *device, struct weights *weights,
                   struct error *error)
{
    *observer = (struct observer){.count = count};
    observer->offsets = memory_new(count + 1, sizeof *observer->offsets, "the observer", error);
    return observer->offsets && make_graph(observer, graph, nodes, error) &&
           make_plan(observer, device, weights, error);
}

void observer_close(struct observer *observer)
{
    execution_free(observer->execution);
    plan_free(observer->plan);
    graph_free(&observer->graph);
    free(observer->offsets);
    *observer = (struct observer){0};
}

uint64_t observer_bytes(const struct graph *graph, const size_t *nodes, size_t count,
                        const struct device_driver *driver, size_t threads)
{
    struct observer observer = {.count = count};
    uint64_t bytes = 0;
    observer.offsets = memory_new(count + 1, sizeof *observer.offsets, "the observer", NULL);
    if (observer.offsets && make_graph(&observer, graph, nodes, NULL)) {
        const struct plan_settings settings = {
            .mode = PLAN_INFERENCE,
            .batch = batch_for(observer.offsets[count] * sizeof(float)),
            .threads = threads,
            .only_forecast = true};
        observer.plan = plan_build(&observer.graph, driver, &settings, NULL);
    }
    if (observer.plan)
        bytes = observer.plan->forecast.total - observer.plan->forecast.weights;
    observer_close(&observer);
    return bytes;
}

const float *observer_run(struct observer *observer, const struct sample_images *sample,
                          size_t first, size_t count)
{
    const struct execution_batch batch = {.images = sample->images + first * sample->values,
                                          .count = count};
    execution_bind(observer->execution, &batch);
    execution_forward(observer->execution, 0);
    return execution_output(observer->execution);
}
