/* The rules of the solvers, one loop each. */
#include "engine/training/solver.h"

#include <math.h>

const char *const solver_names[SOLVER_KINDS + 1] = {[SOLVER_SGD] = "sgd",
                                                    [SOLVER_NESTEROV] = "nesterov",
                                                    [SOLVER_ADAM] = "adam",
                                                    [SOLVER_ADAMW] = "adamw",
                                                    [SOLVER_RMSPROP] = "rmsprop"};

const char *const momentum_form_names[] = {"caffe", "torch", NULL};

size_t solver_state_count(const struct solver_settings *settings)
{
    const size_t velocity = settings->momentum != 0 ? 1 : 0;
    if (solver_is_adam(settings->kind))
        return 2;
    return settings->kind == SOLVER_RMSPROP ? 1 + velocity : velocity;
}

static void update_plain(const struct solver_update *u, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        float gradient = u->gradients[i] + u->settings.weight_decay * u->weights[i];
        u->weights[i] -= u->learning_rate * gradient;
    }
}

static void update_momentum(const struct solver_update *u, size_t begin, size_t end)
{
    const float momentum = u->settings.momentum;
    const float inner = solver_inner_rate(u), outer = solver_outer_rate(u);
    bool nesterov = u->settings.kind == SOLVER_NESTEROV;
    float *velocity = u->state[0];
    for (size_t i = begin; i < end; i++) {
        float step = inner * (u->gradients[i] + u->settings.weight_decay * u->weights[i]);
        velocity[i] = momentum * velocity[i] + step;
        u->weights[i] -= outer * (nesterov ? momentum * velocity[i] + step : velocity[i]);
    }
}

static void update_adam(const struct solver_update *u, size_t begin, size_t end)
{
    const struct solver_settings *s = &u->settings;
    double correction1 = 1 - pow(s->momentum, (double)u->step);
    double correction2 = 1 - pow(s->beta2, (double)u->step);
    float rate = (float)(u->learning_rate / correction1);
    float root = (float)(1 / sqrt(correction2));
    bool decoupled = s->kind == SOLVER_ADAMW;
    float added = decoupled ? 0 : s->weight_decay;
    float kept = decoupled ? 1 - u->learning_rate * s->weight_decay : 1;
    float *first = u->state[0], *second = u->state[1];
    for (size_t i = begin; i < end; i++) {
        float gradient = u->gradients[i] + added * u->weights[i];
        first[i] = s->momentum * first[i] + (1 - s->momentum) * gradient;
        second[i] = s->beta2 * second[i] + (1 - s->beta2) * gradient * gradient;
        u->weights[i] =
            kept * u->weights[i] - rate * first[i] / (sqrtf(second[i]) * root + s->epsilon);
    }
}

static void update_rmsprop(const struct solver_update *u, size_t begin, size_t end)
{
    const struct solver_settings *s = &u->settings;
    float *squares = u->state[0], *velocity = s->momentum != 0 ? u->state[1] : NULL;
    for (size_t i = begin; i < end; i++) {
        float gradient = u->gradients[i] + s->weight_decay * u->weights[i];
        squares[i] = s->beta2 * squares[i] + (1 - s->beta2) * gradient * gradient;
        float step = gradient / (sqrtf(squares[i]) + s->epsilon);
        if (velocity)
            step = velocity[i] = s->momentum * velocity[i] + step;
        u->weights[i] -= u->learning_rate * step;
    }
}

void solver_update_range(const struct solver_update *update, size_t begin, size_t end)
{
    if (solver_is_adam(update->settings.kind))
        update_adam(update, begin, end);
    else if (update->settings.kind == SOLVER_RMSPROP)
        update_rmsprop(update, begin, end);
    else if (solver_state_count(&update->settings) == 0)
        update_plain(update, begin, end);
    else
        update_momentum(update, begin, end);
}
