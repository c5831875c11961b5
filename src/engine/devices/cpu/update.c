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
    const float inner = solver_inner_rate(u), outer = solver_outer_rate(u);
    const float decay = u->settings.weight_decay;
    const float momentum = u->settings.momentum, *gradients = u->gradients;
    float *weights = u->weights, *velocity = u->state[0];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        velocity[i] = momentum * velocity[i] + inner * (gradients[i] + decay * weights[i]);
        weights[i] -= outer * velocity[i];
    }
}

static void nesterov_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const float inner = solver_inner_rate(u), outer = solver_outer_rate(u);
    const float decay = u->settings.weight_decay;
    const float momentum = u->settings.momentum, *gradients = u->gradients;
    float *weights = u->weights, *velocity = u->state[0];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        const float step = inner * (gradients[i] + decay * weights[i]);
        velocity[i] = momentum * velocity[i] + step;
        weights[i] -= outer * (momentum * velocity[i] + step);
    }
}

static void adam_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const struct solver_settings *s = &u->settings;
    const float rate = (float)(u->learning_rate / (1 - pow(s->momentum, (double)u->step)));
    const float root = (float)(1 / sqrt(1 - pow(s->beta2, (double)u->step)));
    const bool decoupled = s->kind == SOLVER_ADAMW;
    const float added = decoupled ? 0 : s->weight_decay;
    const float kept = decoupled ? 1 - u->learning_rate * s->weight_decay : 1;
    const float epsilon = s->epsilon, *gradients = u->gradients;
    const float keep1 = s->momentum, keep2 = s->beta2;
    float *weights = u->weights, *first = u->state[0], *second = u->state[1];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        const float gradient = gradients[i] + added * weights[i];
        first[i] = keep1 * first[i] + (1 - keep1) * gradient;
        second[i] = keep2 * second[i] + (1 - keep2) * gradient * gradient;
        weights[i] = kept * weights[i] - rate * first[i] / (sqrtf(second[i]) * root + epsilon);
    }
}

static void rmsprop_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const struct solver_settings *s = &u->settings;
    const float rate = u->learning_rate, decay = s->weight_decay, epsilon = s->epsilon;
    const float keep = s->beta2, *gradients = u->gradients;
    float *weights = u->weights, *squares = u->state[0];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        const float gradient = gradients[i] + decay * weights[i];
        squares[i] = keep * squares[i] + (1 - keep) * gradient * gradient;
        weights[i] -= rate * (gradient / (sqrtf(squares[i]) + epsilon));
    }
}

static void rmsprop_momentum_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct solver_update *u = context;
    const struct solver_settings *s = &u->settings;
    const float rate = u->learning_rate, decay = s->weight_decay, epsilon = s->epsilon;
    const float keep = s->beta2, momentum = s->momentum, *gradients = u->gradients;
    float *weights = u->weights, *squares = u->state[0], *velocity = u->state[1];
#pragma omp simd
    for (size_t i = task * BLOCK; i < block_end(u->count, task); i++) {
        const float gradient = gradients[i] + decay * weights[i];
        squares[i] = keep * squares[i] + (1 - keep) * gradient * gradient;
        velocity[i] = momentum * velocity[i] + gradient / (sqrtf(squares[i]) + epsilon);
        weights[i] -= rate * velocity[i];
    }
}

static pool_task *task_of(const struct solver_settings *settings)
{
    const bool velocity = settings->momentum != 0;
    switch (settings->kind) {
    case SOLVER_ADAM:
    case SOLVER_ADAMW:
        return adam_task;
    case SOLVER_RMSPROP:
        return velocity ? rmsprop_momentum_task : rmsprop_task;
    case SOLVER_NESTEROV:
        return velocity ? nesterov_task : plain_task;
    default:
        return velocity ? momentum_task : plain_task;
    }
}

void KERNEL(update)(const struct solver_update *update, struct pool *pool);

void KERNEL(update)(const struct solver_update *update, struct pool *pool)
{
    pool_run(pool, block_count(update->count), task_of(&update->settings), (void *)update);
}
