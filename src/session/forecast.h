/* forecast.h: what a configuration would take, before anything is started. */
#ifndef TINCA_SESSION_FORECAST_H
#define TINCA_SESSION_FORECAST_H

#include "base/error.h"
#include "base/host.h"
#include "engine/plan.h"
#include "session/config.h"

#include <stdint.h>

struct forecast {
    size_t parameters;
    uint64_t flops; /* of one image's forward pass */
    size_t classes;
    struct shape input;
    struct memory_forecast memory;
    uint64_t feed_bytes;            /* batches prepared ahead, besides memory.total */
    uint64_t memory_free;           /* bytes that a run may take now; 0: not known */
    enum memory_bound memory_bound; /* what leaves no more */
    size_t largest_batch; /* filled when both together exceed what is free; 0: not even one fits */
    bool fits;
};

/* Builds network and plan and throws them away; opens no data set beyond its facts that are known
 * from its kind (classes default to the network's when the folder must be read). Takes
 * milliseconds. False with the reason why the configuration cannot work. */
bool forecast_make(const struct run_config *config, struct forecast *forecast, struct error *error);

/* What a memory limit does and what it costs, as one sentence without a full stop; empty when there
 * is nothing to say. Returns `text`. */
char *forecast_limit_words(const struct memory_forecast *memory, char *text, size_t size);

/* When a forecast does not fit: the words of the refusal, with the batch that would fit. False. */
bool forecast_refuse(const struct forecast *forecast, size_t batch, struct error *error);

#endif
