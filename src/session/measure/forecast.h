/* forecast.h: predicts what a configuration will take (parameters, FLOPs, memory), before a run
 * starts. */
#ifndef TINCA_SESSION_MEASURE_FORECAST_H
#define TINCA_SESSION_MEASURE_FORECAST_H

#include "base/error.h"
#include "base/host/host.h"
#include "engine/plan/plan.h"
#include "session/config/config.h"

#include <stdint.h>

/* Sizes in bytes. */
struct forecast {
    size_t parameters;
    uint64_t flops; /* FLOPs of one image's forward pass */
    size_t classes;
    char network[64];   /* name without suffixes: "resnet20" */
    char suffixes[384]; /* the rest of the full name: "-dsc-0.35", or "" */
    struct shape input;
    struct memory_forecast memory;  /* the plan's memory */
    uint64_t loader_bytes;          /* the data loader's prefetch queue */
    uint64_t other_bytes;           /* everything else that a run holds, see memory_check.c */
    uint64_t program_bytes;         /* held by the process now, and its code not loaded yet */
    uint64_t validation_available;  /* left for validation; UINT64_MAX: unknown */
    uint64_t memory_free;           /* that a run may take now without swapping; 0: unknown */
    enum memory_bound memory_bound; /* the reason why it is no more */
    uint64_t memory_limit;          /* addresses that BOUND_ULIMIT leaves; 0 for other bounds */
    uint64_t reserved_bytes;        /* addresses that its threads reserve under such a limit */
    size_t largest_batch;           /* that would fit memory_free if this one does not; 0: none */
    bool fits;  /* false: the run would be killed, or an allocation would fail */
    bool swaps; /* the run fits, but only with a part of it in swap */
};

/* Returns the bytes that the run takes. */
uint64_t forecast_needed(const struct forecast *forecast);

/* Returns the highest number of bytes that the whole process will hold. */
uint64_t forecast_peak(const struct forecast *forecast);

/* Fills *forecast; takes milliseconds, and opens a GPU for as long as that takes: cuDNN says there
 * how much workspace it needs. Builds network and plan, and frees them again. Opens no data
 * set: `classes` is its number of classes if the caller knows it; 0: what its kind says or, of a
 * folder, the network's own number. Returns false with an error if the configuration cannot work.
 */
bool forecast_make(const struct run_config *config, size_t classes, struct forecast *forecast,
                   struct error *error);

/* Writes what a memory limit saves and costs, as a sentence without full stop, or "" if it changes
 * nothing. Returns `text`. */
char *forecast_limit_text(const struct memory_forecast *memory, char *text, size_t size);

/* Writes how many layers the device has no kernel for and what that costs in copies, as a sentence
 * without a full stop; empty if it has all kernels. Returns `text`. */
char *forecast_fallback_text(const struct memory_forecast *memory, char *text, size_t size);

/* Writes, for a forecast that swaps, the consequences and the batch that would not swap. Returns
 * `text`. */
char *forecast_swap_text(const struct forecast *forecast, size_t batch, char *text, size_t size);

/* Fills `error` for a forecast that does not fit, with the batch that would fit. Returns false. */
bool forecast_refuse(const struct forecast *forecast, size_t batch, struct error *error);

#endif
