/* forecast.h: what a configuration would take, before anything is started. */
#ifndef TINCA_SESSION_MEASURE_FORECAST_H
#define TINCA_SESSION_MEASURE_FORECAST_H

#include "base/error.h"
#include "base/host/host.h"
#include "engine/plan/plan.h"
#include "session/config/config.h"

#include <stdint.h>

struct forecast {
    size_t parameters;
    uint64_t flops; /* of one image's forward pass */
    size_t classes;
    char network[64];   /* its name without suffixes: "resnet20" */
    char suffixes[192]; /* what follows in its full name: "-dsc-0.35"; "": none */
    struct shape input;
    struct memory_forecast memory;
    uint64_t loader_bytes;          /* batches prepared ahead */
    uint64_t other_bytes;           /* what a run holds besides these: see memory_check.c */
    uint64_t program_bytes;         /* what the process holds before it, and the rest of its code */
    uint64_t validation_available;  /* what is left for a validation; UINT64_MAX: not known */
    uint64_t memory_free;           /* bytes that a run may take now, without_swap; 0: not known */
    enum memory_bound memory_bound; /* what leaves no more */
    uint64_t memory_limit;   /* BOUND_ULIMIT: the bytes of addresses that it leaves; else 0 */
    uint64_t reserved_bytes; /* the addresses that its threads reserve, under such a limit */
    size_t largest_batch; /* that would stay within memory_free, where this one does not; 0: none */
    bool fits;            /* false: it would be killed, or some allocation would fail */
    bool swaps;           /* it fits, but only with a part of it in swap */
};

/* All that the run takes, and what the process then holds at its highest. */
uint64_t forecast_needed(const struct forecast *forecast);
uint64_t forecast_peak(const struct forecast *forecast);

/* Builds network and plan and throws them away; opens no data set beyond its facts that are known
 * from its kind (classes default to the network's when the folder must be read). Takes
 * milliseconds. False with the reason why the configuration cannot work. */
bool forecast_make(const struct run_config *config, struct forecast *forecast, struct error *error);

/* What a memory limit does and what it costs, as one sentence without a full stop; empty when there
 * is nothing to say. Returns `text`. */
char *forecast_limit_text(const struct memory_forecast *memory, char *text, size_t size);

/* When a forecast swaps: that it does, and what would not, as a sentence. Returns `text`. */
char *forecast_swap_text(const struct forecast *forecast, size_t batch, char *text, size_t size);

/* When a forecast does not fit: the words of the refusal, with the batch that would fit. False. */
bool forecast_refuse(const struct forecast *forecast, size_t batch, struct error *error);

#endif
