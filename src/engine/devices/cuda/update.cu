/* The solver's step, which reads and writes each weight with its gradient and state once. The rules
 * are those of solver.h, with the order of operations of solver_update_range(). */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include "engine/devices/device.h"
#include "engine/training/solver.h"

#include <math.h>

/* The solver's constants. */
struct rule {
    float momentum, beta2, epsilon, decay;
    bool nesterov, decoupled; /* decoupled: adamw's weight decay */
};

static __global__ void step_plain(float *weights, const float *gradients, uint32_t count,
                                  struct rule rule, const struct cuda_iteration *now)
{
    const float rate = now->learning_rate;
    if (now->halted)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step())
        weights[i] -= rate * (gradients[i] + rule.decay * weights[i]);
}

static __global__ void step_momentum(float *weights, const float *gradients, float *velocity,
                                     uint32_t count, struct rule rule,
                                     const struct cuda_iteration *now)
{
    const float rate = now->learning_rate;
    if (now->halted)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float step = rate * (gradients[i] + rule.decay * weights[i]);
        const float moved = rule.momentum * velocity[i] + step;
        velocity[i] = moved;
        weights[i] -= rule.nesterov ? rule.momentum * moved + step : moved;
    }
}

static __global__ void step_adam(float *weights, const float *gradients, float *first,
                                 float *second, uint32_t count, struct rule rule,
                                 const struct cuda_iteration *now)
{
    const float rate = now->learning_rate * now->correction1, root = now->correction2;
    const float added = rule.decoupled ? 0 : rule.decay;
    const float kept = rule.decoupled ? 1 - now->learning_rate * rule.decay : 1;
    if (now->halted)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float gradient = gradients[i] + added * weights[i];
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
    if (now->halted)
        return;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float gradient = gradients[i] + rule.decay * weights[i];
        const float square = rule.beta2 * squares[i] + (1 - rule.beta2) * gradient * gradient;
        float step = gradient / (sqrtf(square) + rule.epsilon);
        squares[i] = square;
        if (velocity)
            velocity[i] = step = rule.momentum * velocity[i] + step;
        weights[i] -= rate * step;
    }
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

extern "C" void cuda_update(struct device *device, const struct solver_update *update)
{
    const size_t part = (size_t)1 << 30;
    for (size_t first = 0; first < update->count; first += part)
        update_part((struct cuda_context *)device->state, update, first,
                    (uint32_t)(update->count - first < part ? update->count - first : part));
}
