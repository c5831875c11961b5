/* plans.h: network, plans and forecast of a configuration, before data and device are opened. */
#ifndef TINCA_SESSION_PREPARE_PLANS_H
#define TINCA_SESSION_PREPARE_PLANS_H

#include "session/config/config.h"
#include "session/measure/forecast.h"

struct preparation;

/* A run that is forecast, for those who say what they will hold besides. */
struct run_extent {
    const struct run_config *config;
    const struct network *network;
    uint64_t iterations; /* 0: not known */
    bool on_host;        /* `bytes` are of the host's memory, else of the device's */
    bool tests;          /* the run reads a model for its test set at the end */
};
typedef uint64_t run_bytes(const struct run_extent *extent);

/* Builds network and plans of a checked or unchecked configuration and fills the forecast, whether
 * or not that fits. A GPU is opened for as long as that takes: cuDNN says there how much workspace
 * it needs. `classes` is the data set's number of classes if the caller knows it; 0: what its kind
 * says or, of a folder, the network's own number. `besides` says what the run will hold besides,
 * now and when prepare forecasts it anew. Returns false with an error, and frees everything, if the
 * configuration cannot work. */
bool prepare_plans(struct preparation *prepared, const struct run_config *config, size_t classes,
                   run_bytes *besides, struct error *error);

#endif
