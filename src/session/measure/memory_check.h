/* memory_check.h: checks whether a computation fits into memory, before it starts. Internal to
 * session/. */
#ifndef TINCA_SESSION_MEASURE_MEMORY_CHECK_H
#define TINCA_SESSION_MEASURE_MEMORY_CHECK_H

#include "base/host/host.h"
#include "engine/network/network.h"
#include "engine/plan/plan.h"
#include "session/measure/forecast.h"
#include "session/training/methods/method.h"

/* Fills *memory with what the network's plan takes, together with its discriminator if it trains
 * with one, but without a teacher (method_forecast). Builds the plans and frees them again. Returns
 * false with an error. */
bool memory_check_plan(const struct network *network, const struct device_driver *driver,
                       const struct plan_settings *settings, struct memory_forecast *memory,
                       struct error *error);

/* The run whose memory is to be checked. */
struct memory_check_request {
    const struct network *network;
    const struct method *method; /* that trains it; NULL: memory_check_plan says what is computed */
    const struct device_driver *driver;
    const struct plan_settings *settings;
    const char *device;     /* name of the device, whose own memory is checked if it has any */
    bool beforehand;        /* data set and threads do not exist yet: leave a margin for them */
    bool stored;            /* the training images are in memory (dataset_kind.stored) */
    bool validation_stored; /* the images of validations and of the test are */
    bool samples;           /* the run writes sample pictures (samples.h) */
    uint64_t data_bytes;    /* data sets that are not open yet */
    uint64_t curve_bytes;   /* recorded curves */
    bool average;           /* the run keeps averaged weights, too */
    bool tested;            /* it reads its best weights for the test set at its end */
    uint64_t decode_bytes;  /* a decode worker of training (dataset_facts); 0: unknown */
    uint64_t validation_decode_bytes; /* a decode worker of validation */
    size_t files;                     /* images that are separate files, listed in data.json */
    const struct available_memory *available; /* for tests; NULL: the machine's present memory */
    size_t validation_images;                 /* 0: unknown */
    size_t validation; /* images in the largest batch of validation; 0: none */
};

/* Fills the memory members of a forecast whose `memory`, `input` and `classes` are filled already.
 */
void memory_check(const struct memory_check_request *request, struct forecast *forecast);

#endif
