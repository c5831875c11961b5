/* The solver's step: one pass over weights, gradients and state that applies the rule of
 * solver_update_range (solver.h) to each value. */
#include "engine/devices/cpu/cpu.h"
#include "engine/devices/cpu/simd.h"

#include <math.h>

static void plain_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const float rate = u->learning_rate, decay = u->settings.weight_decay;
    const float *gradients = u->gradients;
    float *weights = u->weights;
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++)
        weights[i] -= rate * (gradients[i] + decay * weights[i]);
}

static void momentum_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const float rate = u->learning_rate, decay = u->settings.weight_decay;
    const float momentum = u->settings.momentum, *gradients = u->gradients;
    float *weights = u->weights, *velocity = u->state[0];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        velocity[i] = momentum * velocity[i] + rate * (gradients[i] + decay * weights[i]);
        weights[i] -= velocity[i];
    }
}

static void nesterov_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const float rate = u->learning_rate, decay = u->settings.weight_decay;
    const float momentum = u->settings.momentum, *gradients = u->gradients;
    float *weights = u->weights, *velocity = u->state[0];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        const float step = rate * (gradients[i] + decay * weights[i]);
        velocity[i] = momentum * velocity[i] + step;
        weights[i] -= momentum * velocity[i] + step;
    }
}

static void adam_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const struct solver_settings *s = &u->settings;
    const float rate = (float)(u->learning_rate / (1 - pow(s->momentum, (double)u->step)));
    const float root = (float)(1 / sqrt(1 - pow(s->beta2, (double)u->step)));
    const float decay = s->weight_decay, epsilon = s->epsilon, *gradients = u->gradients;
    const float keep1 = s->momentum, keep2 = s->beta2;
    float *weights = u->weights, *first = u->state[0], *second = u->state[1];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        const float gradient = gradients[i] + decay * weights[i];
        first[i] = keep1 * first[i] + (1 - keep1) * gradient;
        second[i] = keep2 * second[i] + (1 - keep2) * gradient * gradient;
        weights[i] -= rate * first[i] / (sqrtf(second[i]) * root + epsilon);
    }
}

void KERNEL(update)(const struct solver_update *update, struct pool *pool);

void KERNEL(update)(const struct solver_update *update, struct pool *pool)
{
    pool_task *task = plain_task;
    if (update->settings.kind == SOLVER_ADAM)
        task = adam_task;
    else if (update->settings.kind == SOLVER_NESTEROV && update->settings.momentum != 0)
        task = nesterov_task;
    else if (update->settings.momentum != 0)
        task = momentum_task;
    pool_run(pool, block_count(update->count), task, (void *)update);
}
