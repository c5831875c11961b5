/* method.h: how a network is trained: which networks an iteration updates, with which plans, and on
 * which losses.
 *
 *   supervised    one network, on its own losses
 *   adversarial   a generator against a discriminator (engine/execution/gan.h)
 *   distilled     a student beside a teacher (engine/execution/distillation.h)
 *
 * All other code (the loop, checkpoints, ranks, inspections, the memory forecast) asks the method
 * and does not distinguish them. A method is opened on a network and its data, builds its plans,
 * creates its executions once the plans fit into memory, and then trains on one batch after the
 * other. It borrows network, device and the network's weights. */
#ifndef TINCA_TRAINING_METHODS_METHOD_H
#define TINCA_TRAINING_METHODS_METHOD_H

#include "base/json/json.h"
#include "data/dataset/dataset.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/plan/plan.h"
#include "engine/weights/weights.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct method_type; /* internal.h: its functions */

struct method {
    const struct method_type *type; /* NULL: not opened */
    struct network *network;
    void *state, *plans; /* of the type's own file */
};

/* Returns whether the configured method trains a student beside a teacher. */
bool method_is_distilled(const struct method *method);

/* Reads the settings that determine how many classes the network must have, before it is built;
 * method_classes then returns that number, 0: any. method_open calls it if the caller has not.
 * Returns false with an error. */
bool method_begin(struct method *method, const struct run_config *config, struct error *error);
size_t method_classes(const struct method *method);

/* Chooses the method of a configuration and its network, and reads its other files, without
 * weights: enough for method_plan. `method` is {0} or begun. Returns false with an error if the
 * network cannot be trained like that. method_close must follow in any case. */
bool method_open(struct method *method, const struct run_config *config, struct network *network,
                 struct error *error);
void method_close(struct method *method); /* may be {0} */

/* Returns the method that trains a network without a teacher or, for inference, computes it: enough
 * for method_forecast. There is nothing to close. */
struct method method_of_network(struct network *network, enum plan_mode mode);

/* Checks that the method and the data fit together, and reads further weights; may append a
 * technique to the network's name. Returns false with an error. */
bool method_open_data(struct method *method, const struct run_config *config,
                      const struct dataset *data, struct error *error);

/* Returns whether pictures are prepared as the method needs it; `fixed`: they are neither resized
 * nor turned. Returns false with an error that names the setting. */
bool method_check_preprocessing(const struct method *method,
                                const struct preprocessing *preprocessing, bool fixed,
                                struct error *error);

/* Returns whether the method supports the configuration: to begin with the weights of a file, to
 * freeze some, and to share batches with the other processes of a cluster (NULL: there are none).
 * Returns false with an error. */
bool method_check(const struct method *method, const struct run_config *config,
                  const struct cluster *cluster, struct error *error);

/* Return whether the run has a single loss, which falls and whose gradient measures the importance
 * of a weight; and whether it may begin with weights alone, without the state of its solver. */
bool method_has_one_loss(const struct method *method);
bool method_begins_with_weights(const struct method *method);

/* --- plans --- */

/* Builds the plans for training, in place of those that it has. A memory limit applies to all
 * together. Returns false with an error. */
bool method_plan(struct method *method, const struct device_driver *driver,
                 const struct plan_settings *settings, struct error *error);

/* Returns the bytes and FLOPs of all plans together, once they are built. */
const struct memory_forecast *method_memory(const struct method *method);

/* Fills *memory as method_memory would with these settings, and keeps no plan. Returns false with
 * an error. */
bool method_forecast(const struct method *method, const struct device_driver *driver,
                     const struct plan_settings *settings, struct memory_forecast *memory,
                     struct error *error);

/* --- training --- */

/* Creates the executions for the plans, which train `weights` of the network. Returns false with an
 * error. */
bool method_create(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error);

/* The losses of an iteration; NaN where the method has none of a kind. */
struct step_losses {
    float total;           /* the sum that training minimises */
    float discriminator;   /* the discriminator's objective */
    float l1;              /* the generator's main loss, without its weight */
    float labels, teacher; /* the parts of a student's total */
};

/* Trains on a batch for one step. Returns false if a loss is not finite: its step, and those after
 * it, were not taken. */
bool method_step(struct method *method, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct step_losses *losses);

/* Finds the first bad layer after a loss that is not finite (execution_find_first_bad_layer). The
 * names of a second network's layers begin with its name: "discriminator: NAME". */
bool method_find_first_bad_layer(const struct method *method, uint64_t iteration,
                                 struct bad_layer *layer);

/* Returns the CUDA graphs that the device has refused. */
struct recording_refusals method_recording_refusals(const struct method *method);

/* --- the networks that are trained --- */

enum { METHOD_NETWORKS = 2 }; /* at most */

struct method_network {
    const char *name;         /* "network", "generator", "discriminator" */
    const char *prefix;       /* of its arrays in a checkpoint */
    const struct plan *plan;  /* of its step */
    const struct plan *other; /* of its pass with frozen weights; NULL: there is none */
    struct weights *weights;
    struct execution *execution; /* it updates the weights */
};

/* Lists the networks, the one that is validated and saved first; weights and executions are NULL
 * before method_create. Returns their number; 0: nothing is planned. */
size_t method_networks(const struct method *method,
                       struct method_network networks[METHOD_NETWORKS]);

/* Returns the execution that updates the network which is validated and saved; NULL before
 * method_create. */
struct execution *method_execution(const struct method *method);

/* Attaches a profile to each network (NULL: none); does nothing without executions. */
void method_set_profiles(struct method *method, struct profile *const profiles[METHOD_NETWORKS]);

/* Sets the solver's momentum in all networks. */
void method_set_momentum(struct method *method, float momentum);

/* --- its state --- */

/* The method's state in a checkpoint and on the other ranks, besides the arrays of the networks: of
 * each network, the first and the second, or zeros. */
struct method_counters {
    uint64_t steps[METHOD_NETWORKS];                /* of the solver */
    struct loss_scale loss_scales[METHOD_NETWORKS]; /* in float16 */
};

/* Copies the networks' weights and solver state from the device. Returns false with an error if it
 * has failed. */
bool method_fetch(const struct method *method, struct error *error);

/* Return the counters, and set them once the arrays have been read. */
struct method_counters method_save(const struct method *method);
void method_restore(struct method *method, const struct method_counters *counters);

/* Returns a checksum of the files that the method reads besides the data; 0: none. */
uint32_t method_checksum(const struct method *method);

/* Adds the description of these files in data.json to its tree. Returns false if out of memory. */
bool method_to_json(const struct method *method, struct json *tree);

#endif
