/* run_facts.h: what is known of a run from its beginning on. */
#ifndef TINCA_SESSION_VALUES_RUN_FACTS_H
#define TINCA_SESSION_VALUES_RUN_FACTS_H

#include "base/error.h"
#include "engine/plan/plan.h"
#include "session/values/run_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Facts that never change once the run is prepared (status beyond RUN_PREPARING); before that, what
 * the forecast knew. Ask run_facts again after a change of status: the address may change. */
struct run_facts {
    char id[RUN_ID_SIZE];
    char created[24];  /* RFC 3339 */
    char host[128];    /* the machine it ran on; "": not known */
    char imported[16]; /* the framework whose log it was taken from; "": it ran here */
    bool mean_only;    /* imported: loss is Caffe's mean, the losses themselves are not known */
    char directory[512];
    char network[64]; /* with its suffixes, as the studies print it: "resnet20-dsc-0.36" */
    char technique[16];
    size_t parameters;
    size_t discriminator_parameters; /* 0: there is none */
    uint64_t flops;
    size_t images, validation_images, classes;
    struct memory_forecast forecast;
    uint64_t memory_peak; /* the process at its highest, as forecast before the run; 0: not known */
    size_t threads;
};

/* Whether a run was trained here: false where `imported` (of its facts) names a framework, with an
 * error that says that there is a record, but no model to go on from or to look at. */
bool run_is_own(const char *imported, const char *id, struct error *error);

#endif
