/* The solver's step, which reads and writes each weight with its gradient and state once. The rules
 * are those of solver.h, with the order of operations of solver_update_range(). In float16
 * gradients are those of a scaled loss, which may have overflowed: then no weight changes. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include "engine/devices/device.h"
#include "engine/training/solver.h"

#include <math.h>

/* The solver's constants. */
struct rule {
    float momentum, beta2, epsilon, decay;
    bool nesterov, torch,
        decoupled; /* torch: momentum of that form; decoupled: adamw's weight decay */
};

static __global__ void step_plain(float *weights, const float *gradients, uint32_t count,
                                  struct rule rule, const struct cuda_iteration *now)
{
    const float rate = now->learning_rate;
    if (now->halted || now->overflow)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step())
        weights[i] -= rate * (gradients[i] * now->unscale + rule.decay * weights[i]);
}

static __global__ void step_momentum(float *weights, const float *gradients, float *velocity,
                                     uint32_t count, struct rule rule,
                                     const struct cuda_iteration *now)
{
    const float inner = rule.torch ? 1 : now->learning_rate;
    const float outer = rule.torch ? now->learning_rate : 1;
    if (now->halted || now->overflow)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float step = inner * (gradients[i] * now->unscale + rule.decay * weights[i]);
        const float moved = rule.momentum * velocity[i] + step;
        velocity[i] = moved;
        weights[i] -= outer * (rule.nesterov ? rule.momentum * moved + step : moved);
    }
}

static __global__ void step_adam(float *weights, const float *gradients, float *first,
                                 float *second, uint32_t count, struct rule rule,
                                 const struct cuda_iteration *now)
{
    const float rate = now->learning_rate * now->correction1, root = now->correction2;
    const float added = rule.decoupled ? 0 : rule.decay;
    const float kept = rule.decoupled ? 1 - now->learning_rate * rule.decay : 1;
    if (now->halted || now->overflow)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float gradient = gradients[i] * now->unscale + added * weights[i];
        const float mean = rule.momentum * first[i] + (1 - rule.momentum) * gradient;
        const float square = rule.beta2 * second[i] + (1 - rule.beta2) * gradient * gradient;
        first[i] = mean;
        second[i] = square;
        weights[i] = kept * weights[i] - rate * mean / (sqrtf(square) * root + rule.epsilon);
    }
}

static __global__ void step_rmsprop(float *weights, const float *gradients, float *squares,
                                    float *velocity, uint32_t count, struct rule rule,
                                    const struct cuda_iteration *now)
{
    const float rate = now->learning_rate;
    if (now->halted || now->overflow)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float gradient = gradients[i] * now->unscale + rule.decay * weights[i];
        const float square = rule.beta2 * squares[i] + (1 - rule.beta2) * gradient * gradient;
        float step = gradient / (sqrtf(square) + rule.epsilon);
        squares[i] = square;
        if (velocity)
            velocity[i] = step = rule.momentum * velocity[i] + step;
        weights[i] -= rate * step;
    }
}

/* Marks an overflow if a gradient is NaN or infinite; all threads that find one write the same
 * value. */
static __global__ void find_overflow(const float *gradients, uint32_t count,
                                     struct cuda_iteration *now)
{
    bool found = false;
    for (uint32_t i = stride_first(); i < count; i += stride_step())
        found = found || !isfinite(gradients[i]);
    if (found)
        now->overflow = 1;
}

/* Updates weights[first..first + count). Kernels have 32-bit indices, so large networks take
 * several launches. */
static void update_part(struct cuda_context *context, const struct solver_update *u, size_t first,
                        uint32_t count)
{
    const struct solver_settings *s = &u->settings;
    const struct rule rule = {.momentum = s->momentum,
                              .beta2 = s->beta2,
                              .epsilon = s->epsilon,
                              .decay = s->weight_decay,
                              .nesterov = s->kind == SOLVER_NESTEROV,
                              .torch = s->form == MOMENTUM_TORCH,
                              .decoupled = s->kind == SOLVER_ADAMW};
    const struct cuda_iteration *now = context->now;
    const unsigned blocks = stride_blocks(count);
    float *weights = u->weights + first;
    const float *gradients = u->gradients + first;
    if (solver_is_adam(s->kind))
        launch(context, "adam", step_adam, blocks, BLOCK, 0, weights, gradients,
               u->state[0] + first, u->state[1] + first, count, rule, now);
    else if (s->kind == SOLVER_RMSPROP)
        launch(context, "rmsprop", step_rmsprop, blocks, BLOCK, 0, weights, gradients,
               u->state[0] + first, s->momentum != 0 ? u->state[1] + first : (float *)NULL, count,
               rule, now);
    else if (s->momentum != 0)
        launch(context, "sgd with momentum", step_momentum, blocks, BLOCK, 0, weights, gradients,
               u->state[0] + first, count, rule, now);
    else
        launch(context, "sgd", step_plain, blocks, BLOCK, 0, weights, gradients, count, rule, now);
}

/* --- the average of the weights --- */

/* Moves averages as torch.lerp does, which changes its formula at a share of a half. */
static __global__ void move_averages(float *averages, const float *values, float share,
                                     uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float value = values[i], distance = value - averages[i];
        averages[i] = share >= 1     ? value
                      : share < 0.5f ? averages[i] + share * distance
                                     : value - distance * (1 - share);
    }
}

void cuda_average(struct device *device, float *averages, const float *values, float share,
                  size_t count)
{
    struct cuda_context *context = (struct cuda_context *)device->state;
    const size_t part = (size_t)1 << 30;
    cuda_enter(context);
    for (size_t first = 0; first < count; first += part) {
        const uint32_t here = (uint32_t)(count - first < part ? count - first : part);
        launch(context, "average of the weights", move_averages, stride_blocks(here), BLOCK, 0,
               averages + first, values + first, share, here);
    }
}

/* --- the step --- */

extern "C" void cuda_update(struct device *device, const struct solver_update *update)
{
    struct cuda_context *context = (struct cuda_context *)device->state;
    const size_t part = (size_t)1 << 30, all = update->count;
    for (size_t first = 0; context->precision == CUDA_FP16 && first < all; first += part) {
        const uint32_t count = (uint32_t)(all - first < part ? all - first : part);
        launch(context, "overflow of gradients", find_overflow, stride_blocks(count), BLOCK, 0,
               update->gradients + first, count, context->now);
    }
    for (size_t first = 0; first < all; first += part)
        update_part(context, update, first, (uint32_t)(all - first < part ? all - first : part));
}
