/* run_facts.h: facts about a run that do not change while it trains, and its ID. */
#ifndef TINCA_RUNS_VALUES_RUN_FACTS_H
#define TINCA_RUNS_VALUES_RUN_FACTS_H

#include "base/error.h"
#include "engine/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- IDs --- */

/* IDs of runs: the time of the start, the network, and four random digits, such as
 * 20261121-063012-resnet20-dsc-0.35-1a2b (UTC). IDs sort by time and are file names. */

enum {
    RUN_ID_SIZE = 64,              /* bytes, with the NUL */
    RUN_ID_NAME = RUN_ID_SIZE - 21 /* bytes for the network's name, with the NUL */
};

/* Writes the part of an ID that names the network. `network` is a built-in network's name or a
 * file's path; `suffixes` follow it ("-dsc-0.35", as network_full_name prints them; may be empty).
 * A long name is cut at the end, never within a suffix or a number; widths that do not fit
 * are left out. Returns `name`, which holds RUN_ID_NAME bytes. */
char *run_id_name(const char *network, const char *suffixes, char *name);

/* Writes a new ID of a run of `name` (see run_id_name). Returns `id`, which holds RUN_ID_SIZE
 * bytes. */
char *run_id_new(const char *name, char *id);

/* --- facts --- */

/* The checkpoint that a forked run comes from (training/fork.h). */
struct run_fork {
    char ancestor[RUN_ID_SIZE]; /* "": the run is no fork */
    char checkpoint[12];        /* "last", "previous", "final" or "best" */
    uint64_t iteration;         /* of the ancestor, at that checkpoint; 0: unknown */
    bool weights_only;          /* solver state and iterations began anew */
    bool fresh_schedule;        /* the learning-rate schedule began anew */
};

/* Facts that are final once the run is prepared (status after RUN_PREPARING); before that they are
 * those of the forecast. Call run_facts again after a change of status: the address may change. */
struct run_facts {
    char id[RUN_ID_SIZE];
    char created[24];  /* RFC 3339 */
    char host[128];    /* the machine that trained it; "": unknown */
    char imported[16]; /* the framework whose log was imported; "": tinca trained it */
    struct run_fork fork;
    bool mean_only; /* imported: the loss is Caffe's mean; the losses of iterations are unknown */
    char directory[512];
    /* with suffixes, as in the studies, "resnet20-dsc-0.36", and the chain of techniques that were
     * applied after training (network.h) */
    char network[256];
    char technique[16];
    size_t parameters;
    size_t discriminator_parameters; /* 0: there is none */
    uint64_t flops;
    size_t images, validation_images, classes;
    struct memory_forecast forecast;
    uint64_t memory_peak; /* forecast of the peak of the process; 0: unknown */
    size_t threads;
};

/* Returns whether tinca trained the run. If `imported` (of its facts) names a framework, returns
 * false with an error: there are curves, but no model. */
bool run_trained_by_tinca(const char *imported, const char *id, struct error *error);

#endif
