/* The loss perceptron (formulas and ties in ops/perceptron.c). A task is one image; its vectors run
 * along the classes. */
#include "engine/devices/cpu/simd.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

static size_t label_of(const struct kernel_call *call, size_t n)
{
    assert(call->labels[n] >= 0 && (size_t)call->labels[n] < call->site->inputs[0].channels);
    return (size_t)call->labels[n];
}

/* Returns the first class with the largest logit; `count` if a logit is NaN. */
static size_t predicted_class(const float *x, size_t count)
{
    float largest = x[0];
    int unordered = 0;
#pragma omp simd reduction(max : largest) reduction(| : unordered)
    for (size_t c = 0; c < count; c++) {
        largest = x[c] > largest ? x[c] : largest;
        unordered |= x[c] != x[c];
    }
    size_t first = 0;
    while (!unordered && x[first] != largest)
        first++;
    return unordered ? count : first;
}

static void forward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes;
    const size_t predicted = predicted_class(x, classes);
    call->output[n] = predicted == classes ? NAN : x[predicted] - x[label_of(call, n)];
}

static void backward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const size_t predicted = predicted_class(call->inputs[0] + n * classes, classes);
    const size_t label = label_of(call, n);
    const float scale = loss_scale(call), everywhere = predicted == classes ? NAN : 0;
    float *to = call->input_gradients[0] + n * classes;
#pragma omp simd
    for (size_t c = 0; c < classes; c++)
        to[c] = call->accumulate[0] ? to[c] + everywhere : everywhere;
    if (predicted == classes || predicted == label)
        return;
    to[predicted] += scale;
    to[label] -= scale;
}

static void forward_perceptron(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch, forward_task, call);
}

static void backward_perceptron(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, call->site->batch, backward_task, call);
}

const struct kernel KERNEL(perceptron) = {
    .name = "perceptron simd",
    .instruction_set = ISA_NAME,
    .op = &op_perceptron,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_perceptron,
    .backward = backward_perceptron,
};
