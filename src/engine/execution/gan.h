/* gan.h: a generator and a discriminator that are trained against each other (Goodfellow et al.
 * 2014), conditioned on an image as in Pix2Pix (Isola et al. 2017).
 *
 * The discriminator D sees pairs: the generator's input x and an image, concatenated. An iteration
 * makes a fake image G(x) and then takes two solver steps, each with its own solver state:
 *   D   on (bce(D(x, y), 1) + bce(D(x, G(x)), 0)) / 2, the fake held constant
 *   G   on bce(D(x, G(x)), 1) + w * (main loss of G(x) against y), D held constant
 * with bce the mean over all of D's answers and w the weight of G's main loss. Batch statistics are
 * those of each pass: real and fake pairs are never mixed.
 *
 * Several processes that share the batch (plan_settings.processes) have a gan each, and call its
 * functions at the same time, as those of an execution.
 */
#ifndef TINCA_ENGINE_EXECUTION_GAN_H
#define TINCA_ENGINE_EXECUTION_GAN_H

#include "base/error.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/plan/plan.h"

#include <stdint.h>

/* The plans of the three executions, and the forecast of all together. */
struct gan_plan {
    const struct network *network;     /* borrowed */
    struct plan *generator;            /* its backward pass starts from the output's gradient */
    struct plan *discriminator_step;   /* the discriminator while it is trained */
    struct plan *frozen_discriminator; /* the discriminator with frozen weights */
    struct memory_forecast forecast;   /* memory of all three */
};

/* Builds the three plans for training, and sets the flags in plan_settings that each needs. A
 * memory limit applies to the sum of the three. Returns false with an error. */
bool gan_plan_build(struct gan_plan *plan, const struct network *network,
                    const struct device_driver *driver, const struct plan_settings *settings,
                    struct error *error);
void gan_plan_free(struct gan_plan *plan); /* may be {0} */

struct gan;

/* Creates the executions and draws the discriminator's weights from `seed`. Borrows plan, device
 * and the generator's weights. Returns NULL with an error. */
struct gan *gan_create(const struct gan_plan *plan, struct device *device,
                       struct weights *generator, const struct solver_settings *solver,
                       uint64_t seed, struct error *error);
void gan_free(struct gan *gan); /* may be NULL */

/* Limits the gradients of both networks, each by itself (execution_set_clipping). */
bool gan_set_clipping(struct gan *gan, const struct gradient_clipping *clipping,
                      struct error *error);

/* Sets how several processes add the gradients of both networks (execution_set_sums). */
void gan_set_sums(struct gan *gan, const struct gradient_sums *sums);

struct gan_losses {
    float generator;     /* its objective: adversarial + w * main */
    float discriminator; /* its objective: the mean over real and fake */
    float adversarial;   /* bce of the fakes against 1, after the discriminator's step */
    float main;          /* without its weight */
};

/* Runs one iteration with both steps. Returns false if a loss is NaN or infinite: its step, and
 * those after it, were not taken. */
bool gan_iterate(struct gan *gan, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct gan_losses *losses);

/* Return the discriminator's weights, and the executions that update generator and discriminator.
 */
struct weights *gan_discriminator(struct gan *gan);
struct execution *gan_generator_execution(struct gan *gan);
struct execution *gan_discriminator_execution(struct gan *gan);

/* Returns the refused recordings of all networks (execution.h). */
struct recording_refusals gan_recording_refusals(const struct gan *gan);

/* Attaches a profile to each network (NULL: none). The discriminator's profile has all its passes.
 */
void gan_set_profiles(struct gan *gan, struct profile *generator, struct profile *discriminator);

/* Finds the first bad layer as execution_find_first_bad_layer does, but of both networks. The
 * discriminator's nodes are called "discriminator: NAME". */
bool gan_find_first_bad_layer(struct gan *gan, uint64_t iteration, struct bad_layer *layer);

#endif
