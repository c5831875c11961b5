/* memory_check.h: will it fit? Asked before anything is started. Internal to session/. */
#ifndef TINCA_SESSION_MEASURE_MEMORY_CHECK_H
#define TINCA_SESSION_MEASURE_MEMORY_CHECK_H

#include "base/host/host.h"
#include "engine/network/network.h"
#include "engine/plan/plan.h"
#include "session/measure/forecast.h"

/* What the network takes, when it is trained with its discriminator, by plans that are thrown away.
 */
bool memory_check_plan(const struct network *network, const struct device_driver *driver,
                       const struct plan_settings *settings, struct memory_forecast *memory,
                       struct error *error);

/* What is asked about. */
struct memory_check_request {
    const struct network *network;
    const struct device_driver *driver;
    const struct plan_settings *settings;
    const char *device;     /* its name; where it has memory of its own, that is asked about */
    bool beforehand;        /* data set and threads are still to come, and room is left for them */
    bool stored;            /* the images lie in memory (dataset_kind) */
    bool validation_stored; /* the same of the validation's */
    bool samples;           /* a network that makes images shows some of them (samples.h) */
    uint64_t data_bytes;    /* of the data sets, where they are still to come */
    uint64_t curve_bytes;   /* what the run records */
    uint64_t decode_bytes;  /* of a reader of training images (dataset_facts); 0: not known */
    uint64_t validation_decode_bytes; /* the same of the validation's */
    size_t files; /* images that are files of their own, which data.json lists */
    const struct available_memory
        *room;                /* NULL: what the machine leaves now; else that, for tests */
    size_t validation_images; /* 0: not known */
    size_t validation;        /* images of a batch of validation, at the most; 0: there is none */
};

/* Fills, of a forecast whose `memory`, `input` and `classes` are filled, all that is about memory
 * besides. */
void memory_check(const struct memory_check_request *question, struct forecast *forecast);

/* Bytes that a validation in batches of so many images takes. 0: it cannot be planned. */
uint64_t memory_of_validation(const struct memory_check_request *question, size_t batch);

#endif
