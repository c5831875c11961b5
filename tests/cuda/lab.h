/* lab.h: trains a network on a device, for tests that compare devices. */
#ifndef TINCA_TESTS_CUDA_LAB_H
#define TINCA_TESTS_CUDA_LAB_H

#include "random_fill.h"
#include "tap.h"

#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAB_IMAGES = 12 }; /* at the most */

struct lab {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    float *images;
    int32_t labels[LAB_IMAGES];
};

static inline bool lab_make_batch(struct lab *lab, size_t batch, struct error *error)
{
    const size_t values = batch * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", error);
    if (lab->images)
        random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, lab->images, values);
    for (size_t i = 0; i < batch; i++)
        lab->labels[i] = (int32_t)(i * 7 % lab->network->classes);
    return lab->images;
}

/* Builds the network on an open device, which lab_close closes; where device is NULL, error already
 * says why. Returns false with an error; lab_close is needed then, too. */
static inline bool lab_make_on(struct lab *lab, const struct network_request *request,
                               struct device *device, const struct plan_settings *settings,
                               struct error *error)
{
    *lab = (struct lab){.device = device};
    lab->network = device ? network_build(request, error) : NULL;
    struct plan_settings plan = *settings;
    plan.device = device;
    if (lab->network)
        lab->plan = plan_build(&lab->network->graph, lab->device->driver, &plan, error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, error))
        return false;
    weights_initialise(&lab->weights, 11, NULL);
    lab->execution =
        execution_create(lab->plan, lab->device, &lab->weights, &settings->solver, 11, error);
    return lab->execution && lab_make_batch(lab, settings->batch, error);
}

/* Does what lab_make_on does, on the device of that name. */
static inline bool lab_make(struct lab *lab, const struct network_request *request,
                            const char *device, const struct plan_settings *settings,
                            struct error *error)
{
    return lab_make_on(lab, request, device_open(device, 1, error), settings, error);
}

static inline void lab_close(struct lab *lab)
{
    execution_free(lab->execution);
    weights_free(&lab->weights);
    plan_free(lab->plan);
    device_close(lab->device);
    network_free(lab->network);
    free(lab->images);
}

/* Trains on the first `count` images. */
static inline void lab_bind(struct lab *lab, size_t count)
{
    struct execution_batch batch = {.images = lab->images, .labels = lab->labels, .count = count};
    execution_bind(lab->execution, &batch);
}

static inline float lab_iterate(struct lab *lab, size_t iteration, size_t count)
{
    lab_bind(lab, count);
    return execution_iterate(lab->execution, iteration, 0.01f);
}

/* The same in four calls, which are never captured as a graph. */
static inline float lab_step(struct lab *lab, size_t iteration, size_t count)
{
    lab_bind(lab, count);
    execution_forward(lab->execution, iteration);
    const float loss = execution_loss(lab->execution);
    execution_backward(lab->execution);
    execution_update(lab->execution, 0.01f);
    return loss;
}

static inline double distance(const float *a, const float *b, size_t count)
{
    double largest = 0, scale = 1e-3;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
        scale = fmax(scale, fabs((double)b[i]));
    }
    return largest / scale;
}

static inline size_t floats_of(const struct lab *lab)
{
    return lab->network->graph.total_floats;
}

static inline bool same_weights(struct lab *a, struct lab *b)
{
    return execution_fetch(a->execution, NULL) && execution_fetch(b->execution, NULL) &&
           memcmp(a->weights.values, b->weights.values, floats_of(a) * sizeof(float)) == 0;
}

static inline bool is_well(struct lab *lab)
{
    struct error error = {0};
    if (device_check(lab->device, &error))
        return true;
    tap_note("%s: %s", error.what, error.why);
    return false;
}

/* Returns the name of what computes the second convolution. */
static inline const char *lab_computed_by(const struct lab *lab)
{
    static char text[PLAN_KERNEL_NAME_SIZE];
    size_t convolutions = 0;
    for (size_t s = 0; s < lab->plan->step_count; s++)
        if (lab->plan->steps[s].site.node->op == &op_conv && ++convolutions == 2)
            return plan_step_kernel_name(lab->plan, &lab->plan->steps[s], text, sizeof text);
    return "";
}

#endif
