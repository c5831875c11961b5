/* plans.h: network, plans and forecast of a configuration, before data and device are opened. */
#ifndef TINCA_SESSION_PREPARE_PLANS_H
#define TINCA_SESSION_PREPARE_PLANS_H

#include "session/config/config.h"
#include "session/measure/forecast.h"

struct preparation;

/* Builds network and plans of a checked or unchecked configuration and fills the forecast, whether
 * or not that fits. A GPU is opened for as long as that takes: cuDNN says there how much workspace
 * it needs. `classes` is the data set's number of classes if the caller knows it; 0: what its kind
 * says or, of a folder, the network's own number. Returns false with an error, and frees
 * everything, if the configuration cannot work. */
bool prepare_plans(struct preparation *prepared, const struct run_config *config, size_t classes,
                   struct error *error);

/* Does the same and keeps the forecast only. */
bool forecast_make(const struct run_config *config, size_t classes, struct forecast *forecast,
                   struct error *error);

#endif
