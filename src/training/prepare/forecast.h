/* forecast.h: whether a computation fits into memory, before it starts; and texts about a forecast.
 * The forecast of a run is made by training/forecast_make.h. */
#ifndef TINCA_TRAINING_PREPARE_FORECAST_H
#define TINCA_TRAINING_PREPARE_FORECAST_H

#include "base/error.h"
#include "base/host/host.h"
#include "engine/plan/plan.h"
#include "training/methods/method.h"

#include <stdint.h>

/* Sizes in bytes. */
struct forecast {
    size_t parameters;
    uint64_t flops; /* FLOPs of one image's forward pass */
    size_t classes;
    char network[64];   /* name without suffixes: "resnet20" */
    char suffixes[384]; /* the rest of the full name: "-dsc-0.35", or "" */
    struct shape input;
    struct memory_forecast memory; /* the plan's memory */
    uint64_t loader_bytes;         /* the data loader's prefetch queue */
    uint64_t other_bytes;          /* all other memory of a run, see forecast.c */
    uint64_t program_bytes;        /* in use by the process now, and its code not loaded yet */
    uint64_t validation_available; /* left for validation; UINT64_MAX: unknown */
    uint64_t memory_free;          /* what a run may use in addition without swapping; 0: unknown */
    enum memory_bound memory_bound; /* the bound that limits memory_free */
    uint64_t memory_limit;          /* addresses that BOUND_ULIMIT leaves; 0 for other bounds */
    uint64_t reserved_bytes;        /* addresses that its threads reserve under such a limit */
    size_t largest_batch; /* largest batch that fits memory_free if this one does not; 0: none */
    bool fits;            /* false: the run would be killed, or an allocation would fail */
    bool swaps;           /* the run fits, but only with a part of it in swap */
};

/* Returns the bytes that the run needs in addition to the process's present memory. */
uint64_t forecast_needed(const struct forecast *forecast);

/* Returns the peak memory of the whole process (on a GPU: of the run there). Everything that shows
 * or stores a forecast shows this number. */
uint64_t forecast_peak(const struct forecast *forecast);

/* Returns the bytes that the process may use without swapping: its present memory and the free
 * memory; 0 if unknown. */
uint64_t forecast_free(const struct forecast *forecast);

/* --- sizes that fit --- */

/* The run whose memory is checked. */
struct memory_check_request {
    const struct method *method; /* opened far enough for method_forecast */
    const struct device_driver *driver;
    const struct plan_settings *settings;
    const char *device;     /* name of the device, whose own memory is checked if it has any */
    bool beforehand;        /* data set and threads do not exist yet: leave a margin for them */
    bool stored;            /* the training images are in memory (dataset_kind.stored) */
    bool validation_stored; /* the same for the images of validations and of the test */
    uint64_t data_bytes;    /* data sets that are not open yet */
    uint64_t beside;        /* other memory of the run (struct run_besides) */
    uint64_t at_rest;       /* memory for a moment, while no decode worker runs */
    uint64_t decode_bytes;  /* memory of a decode worker of training (dataset_facts); 0: unknown */
    uint64_t validation_decode_bytes; /* memory of a decode worker of validation */
    size_t files;                     /* images that are separate files, listed in data.json */
    const struct available_memory *available; /* for tests; NULL: the machine's present memory */
    size_t validation_images;                 /* 0: unknown */
    size_t validation;       /* images in the largest batch of validation; 0: none */
    bool validation_samples; /* its batches are of 8-bit samples (plan_settings.sample_batches) */
};

/* Makes *plan the inference plan of batches of `batch` images, unless it is that already. Returns
 * false with an error. */
bool memory_check_inference(const struct memory_check_request *request, size_t batch,
                            struct plan **plan, struct error *error);

/* Fills the memory members of a forecast whose `memory`, `input` and `classes` are filled already.
 * With validation, *inference becomes the plan that computes it, in the largest batch that fits;
 * the caller frees it. If *inference is a plan already, it must be for the same settings, and is
 * kept if its batch fits. Returns false with an error if there can be no such plan. */
bool memory_check(const struct memory_check_request *request, struct forecast *forecast,
                  struct plan **inference, struct error *error);

/* --- in words --- */

/* Writes the savings and costs of a memory limit, as a sentence without full stop, or "" if it
 * changes nothing. Returns `text`. */
char *forecast_limit_text(const struct memory_forecast *memory, char *text, size_t size);

/* Writes how many layers the device has no kernel for and how much is copied for them, as a
 * sentence without a full stop; empty if it has all kernels. Returns `text`. */
char *forecast_fallback_text(const struct memory_forecast *memory, char *text, size_t size);

/* Writes, for a forecast that swaps, the consequences and the batch that would not swap. Returns
 * `text`. */
char *forecast_swap_text(const struct forecast *forecast, size_t batch, char *text, size_t size);

/* A kind of a plan's memory, with its untranslated name. */
struct memory_part {
    const char *name;
    uint64_t bytes;
};
enum { MEMORY_PARTS = 6 };

/* Fills the kinds of memory in which a plan is counted, in the order in which they are shown.
 * Returns how many a run has: the last one, the teacher, may be missing. */
size_t forecast_parts(const struct memory_forecast *memory, struct memory_part parts[MEMORY_PARTS]);

/* Fills `error` for a forecast that does not fit, with the batch that would fit. Returns false. */
bool forecast_refuse(const struct forecast *forecast, size_t batch, struct error *error);

#endif
