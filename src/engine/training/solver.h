/* solver.h: what is done with gradients.
 *
 * Weight decay is Caffe's (and PyTorch's): decay * weight is added to the gradient before anything
 * else. With g that sum, r the learning rate and m the momentum:
 *   sgd       v = m v + r g             w = w - v                      (Caffe's order)
 *   nesterov  v = m v + r g             w = w - (m v + r g)            (Sutskever et al. 2013)
 *   adam      Kingma & Ba 2015, algorithm 1: bias-corrected, epsilon outside the root
 */
#ifndef TINCA_ENGINE_TRAINING_SOLVER_H
#define TINCA_ENGINE_TRAINING_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum solver_kind { SOLVER_SGD, SOLVER_NESTEROV, SOLVER_ADAM, SOLVER_KINDS };

struct solver_settings {
    enum solver_kind kind;
    float momentum; /* adam: beta1 */
    float beta2, epsilon;
    float weight_decay;
};

/* One step over `count` weights, all pointers in the device's memory. */
struct solver_update {
    struct solver_settings settings;
    float learning_rate;
    uint64_t step; /* from 1: adam's bias correction */
    size_t count;
    float *weights;
    const float *gradients;
    float *state[2]; /* momentum or first moment; second moment */
};

const char *solver_name(enum solver_kind kind); /* "sgd", "nesterov", "adam" */
bool solver_parse(const char *name, enum solver_kind *kind);

/* How many arrays of state, each as long as the weights, this solver keeps: 0, 1 or 2. */
size_t solver_state_count(const struct solver_settings *settings);

/* The update in plain C over [begin, end): the reference device, and the rule that others follow.
 */
void solver_update_range(const struct solver_update *update, size_t begin, size_t end);

#endif
