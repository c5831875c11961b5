/* solver.h: the solvers (optimizers), which update weights from gradients.
 *
 * Weight decay works as in Caffe and PyTorch: decay * weight is added to the gradient first. With g
 * this sum, r the learning rate, m the momentum and b beta2:
 *   sgd       v = m v + r g             w = w - v                      (Caffe's form)
 *   nesterov  v = m v + r g             w = w - (m v + r g)            (Sutskever et al. 2013)
 *   sgd       v = m v + g               w = w - r v                    (PyTorch's form)
 *   nesterov  v = m v + g               w = w - r (m v + g)
 * The two forms are the same while r is. When it changes, Caffe's velocity keeps the rates of its
 * steps, and PyTorch's takes the new one at once. The others:
 *   adam      Kingma & Ba 2015, algorithm 1: bias-corrected, epsilon added after the root
 *   adamw     w = w (1 - r decay), then adam's step without decay     (Loshchilov & Hutter 2019)
 *   rmsprop   s = b s + (1 - b) g^2    v = m v + g / (sqrt(s) + epsilon)    w = w - r v
 *                                            (Tieleman & Hinton 2012, with PyTorch's momentum)
 */
#ifndef TINCA_ENGINE_TRAINING_SOLVER_H
#define TINCA_ENGINE_TRAINING_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum solver_kind {
    SOLVER_SGD,
    SOLVER_NESTEROV,
    SOLVER_ADAM,
    SOLVER_ADAMW,
    SOLVER_RMSPROP,
    SOLVER_KINDS
};

/* The names of the solvers, by enum solver_kind, then NULL. */
extern const char *const solver_names[SOLVER_KINDS + 1];

enum momentum_form { MOMENTUM_CAFFE, MOMENTUM_TORCH };

/* The names of the forms, by enum momentum_form, then NULL. */
extern const char *const momentum_form_names[];

struct solver_settings {
    enum solver_kind kind;
    float momentum; /* adam, adamw: beta1 */
    float beta2;    /* adam, adamw; rmsprop: how much of the mean of squares is kept */
    float epsilon;
    float weight_decay;
    enum momentum_form form; /* sgd, nesterov */
};

/* One update of `count` weights. All pointers are into the device's memory. */
struct solver_update {
    struct solver_settings settings;
    float learning_rate;
    uint64_t step; /* 1 for the first update, for the bias correction of adam and adamw */
    size_t count;
    float *weights;
    const float *gradients;
    float *state[2]; /* velocity or first moment; second moment. rmsprop: squares; velocity */
};

/* Returns how many arrays of state the solver has, each as long as the weights: 0, 1 or 2. */
size_t solver_state_count(const struct solver_settings *settings);

/* Returns whether the solver corrects the bias of its two moments: adam and adamw. */
static inline bool solver_is_adam(enum solver_kind kind)
{
    return kind == SOLVER_ADAM || kind == SOLVER_ADAMW;
}

/* Return the factor of the gradient in the velocity, and the factor of the velocity in the step, by
 * the form of the momentum: one of them is the rate, and the other 1. */
static inline float solver_inner_rate(const struct solver_update *update)
{
    return update->settings.form == MOMENTUM_TORCH ? 1 : update->learning_rate;
}

static inline float solver_outer_rate(const struct solver_update *update)
{
    return update->settings.form == MOMENTUM_TORCH ? update->learning_rate : 1;
}

/* Updates the weights in [begin, end) in plain C. The reference device runs it, and other devices
 * are tested against it. */
void solver_update_range(const struct solver_update *update, size_t begin, size_t end);

#endif
