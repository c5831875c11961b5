/* prepare.h: everything a run needs, made from its configuration. Internal to session/. */
#ifndef TINCA_SESSION_RUN_PREPARE_H
#define TINCA_SESSION_RUN_PREPARE_H

#include "data/loader/data_loader.h"
#include "engine/execution/gan.h"
#include "session/config/config.h"
#include "session/measure/forecast.h"
#include "session/model/evaluator.h"
#include "session/model/model_file.h"
#include "session/model/samples.h"

struct preparation {
    struct network *network;
    struct dataset *data, *validation; /* validation NULL: none */
    struct device *device;
    struct plan *plan; /* with a discriminator, this and the execution are NULL: gan has its own */
    struct weights weights;
    struct execution *execution;
    struct gan_plan gan_plan;
    struct gan *gan; /* NULL: there is no discriminator */
    struct samples samples;
    struct data_loader *loader;
    struct evaluator evaluator; /* with validation only; shares weights and device */
    struct normalisation normalisation;
    struct forecast forecast;
    uint64_t per_epoch, iterations; /* of an epoch, of the run */
    uint64_t memory_expected;       /* resident bytes, with everything that was forecast */
};

/* To be called by the thread that runs: the device belongs to it. Batches begin with that of
 * `first_iteration`: 0, or where a resumed run goes on. On failure everything is freed
 * again and `error` says why the configuration cannot work. */
bool prepare(struct preparation *prepared, const struct run_config *config,
             uint64_t first_iteration, struct error *error);
void prepare_free(struct preparation *prepared); /* leaves it {0} */

struct model_facts prepare_model_facts(const struct preparation *prepared);

#endif
