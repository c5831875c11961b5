/* solver.h: the solvers (optimizers), which update weights from gradients.
 *
 * Weight decay works as in Caffe and PyTorch: decay * weight is added to the gradient first. With g
 * this sum, r the learning rate and m the momentum:
 *   sgd       v = m v + r g             w = w - v                      (Caffe's order)
 *   nesterov  v = m v + r g             w = w - (m v + r g)            (Sutskever et al. 2013)
 *   adam      Kingma & Ba 2015, algorithm 1: bias-corrected, epsilon added after the root
 */
#ifndef TINCA_ENGINE_TRAINING_SOLVER_H
#define TINCA_ENGINE_TRAINING_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum solver_kind { SOLVER_SGD, SOLVER_NESTEROV, SOLVER_ADAM, SOLVER_KINDS };

/* The names of the solvers, by enum solver_kind, then NULL. */
extern const char *const solver_names[SOLVER_KINDS + 1];

struct solver_settings {
    enum solver_kind kind;
    float momentum; /* adam: beta1 */
    float beta2, epsilon;
    float weight_decay;
};

/* One update of `count` weights. All pointers are into the device's memory. */
struct solver_update {
    struct solver_settings settings;
    float learning_rate;
    uint64_t step; /* 1 for the first update, for the bias correction of adam */
    size_t count;
    float *weights;
    const float *gradients;
    float *state[2]; /* momentum or first moment; second moment */
};

/* Returns how many arrays of state the solver has, each as long as the weights: 0, 1 or 2. */
size_t solver_state_count(const struct solver_settings *settings);

/* Updates the weights in [begin, end) in plain C. The reference device runs it, and other devices
 * are tested against it. */
void solver_update_range(const struct solver_update *update, size_t begin, size_t end);

#endif
