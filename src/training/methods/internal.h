/* internal.h: the functions of a method.
 *
 * Functions that return false have set the error. NULL: the method does not need the function. */
#ifndef TINCA_TRAINING_METHODS_INTERNAL_H
#define TINCA_TRAINING_METHODS_INTERNAL_H

#include "training/methods/method.h"

struct method_type {
    /* Reads the settings that determine the number of the network's classes, and allocates the
     * state. */
    bool (*begin)(struct method *method, const struct run_config *config, struct error *error);
    size_t (*classes)(const struct method *method);
    /* Allocate (unless begin did) and free the state, including everything that the functions below
     * put there; the plans are freed after it. */
    bool (*open)(struct method *method, const struct run_config *config, struct error *error);
    void (*close)(struct method *method);
    bool (*open_data)(struct method *method, const struct run_config *config,
                      const struct dataset *data, struct error *error);
    bool (*check_preprocessing)(const struct method *method,
                                const struct preprocessing *preprocessing, bool fixed,
                                struct error *error);
    bool (*check)(const struct method *method, const struct run_config *config,
                  const struct cluster *cluster, struct error *error);
    /* Returns new plans, or NULL with an error. */
    void *(*plan)(const struct method *method, const struct device_driver *driver,
                  const struct plan_settings *settings, struct error *error);
    void (*free_plans)(void *plans); /* may be NULL */
    const struct memory_forecast *(*memory)(const void *plans);
    bool (*create)(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error);
    bool (*step)(struct method *method, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct step_losses *losses);
    size_t (*networks)(const struct method *method, struct method_network *networks);
    /* Is NULL unless the method has several executions for a network; otherwise those of networks()
     * are used. */
    bool (*find_first_bad_layer)(const struct method *method, uint64_t iteration,
                                 struct bad_layer *layer);
    struct recording_refusals (*recording_refusals)(const struct method *method);
    void (*set_profiles)(struct method *method, struct profile *const *profiles);
    uint32_t (*checksum)(const struct method *method);
    bool (*to_json)(const struct method *method, struct json *tree);
};

extern const struct method_type method_supervised, method_adversarial, method_distilled;

/* Creates the execution of a network with a separate solver, with the configured solver, clipping
 * and sums. Returns NULL with an error. */
struct execution *method_create_execution(const struct plan *plan, struct device *device,
                                          struct weights *weights, const struct run_config *config,
                                          struct error *error);

#endif
