/* advise.h: the dissertation's flowchart for developers, over the user's own measured runs.
 *
 *   1. the network meets the requirements on the device as it is: leave it alone;
 *   2. it is to be faster, on a powerful device: the techniques do not help, look elsewhere;
 *   3. it is to be faster, on a weak device: shift;
 *   4. it is to be smaller: shift, then dsc, then shuffle; only shift when latency matters as well.
 *
 * Answers come only from rows of the table (compare.h). A figure that the table lacks is listed
 * with the command that measures it. A device counts as weak if shift was measured to be faster
 * than the plain network on it, else as powerful. Before that is measured, the result of the
 * studies is assumed (cuda is powerful), and the advice says that it is an assumption.
 */
#ifndef TINCA_STUDIES_COMPARE_ADVISE_H
#define TINCA_STUDIES_COMPARE_ADVISE_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/devices/device.h"
#include "studies/compare/compare.h"

#include <stddef.h>

enum advise_need { ADVISE_FASTER, ADVISE_SMALLER, ADVISE_BOTH };
extern const char *const advise_need_names[]; /* NULL-terminated */

struct advise_request {
    const char *network; /* without technique; NULL: the only one in the table */
    const char *device;  /* "weak", "powerful", or a device's name */
    enum advise_need need;
    double limit_ms; /* for one image; NaN: any speed-up is enough */
    double limit_mb; /* largest size of the saved model, 10^6 bytes; NaN: any reduction is enough */
    double accept_loss; /* tolerated loss of top-1 accuracy, percentage points */
};
#define ADVISE_ACCEPT_LOSS 5.0

/* Returns whether the advice may read a run: it was trained on this machine, and no technique after
 * training was applied to its network. Those are the matter of the second page. */
struct run_facts;
bool advise_reads(const struct run_facts *facts);

enum advise_verdict {
    ADVISE_KEEP, /* use the network without a technique */
    ADVISE_USE,  /* use the technique: measurements show that it meets the requirements */
    ADVISE_TRY,  /* try the technique: the next one in the flowchart, with measurements missing */
    ADVISE_MEASURE,   /* measure first: the deciding figures are missing */
    ADVISE_ELSEWHERE, /* no technique helps; change something else */
};
/* Returns the verdict's name in JSON: "keep", "use", ... */
const char *advise_verdict_name(enum advise_verdict verdict);

enum { ADVISE_ROWS = 4, ADVISE_STEPS = 16, ADVISE_MISSING = 8, ADVISE_PATH = 8 };

/* The questions of the flowchart, and the answer to one of them. */
enum advise_question {
    ADVISE_MEETS,       /* does the network meet the requirements as it is? */
    ADVISE_NEEDS_SPEED, /* should it become faster? */
    ADVISE_POWERFUL,    /* is the device powerful? */
    ADVISE_SUFFICES,    /* does this technique meet the requirements? */
};
enum advise_reply { ADVISE_NO, ADVISE_YES, ADVISE_UNKNOWN };
struct advise_decision {
    enum advise_question question;
    const char *technique; /* for ADVISE_SUFFICES */
    enum advise_reply reply;
    bool assumed; /* the answer is not measured */
};

/* A missing measurement, and the command that makes it. */
struct advise_missing {
    char what[160], command[1024];
    bool training;           /* train `technique`; false: measure `run` */
    const char *technique;   /* with `training`: what to train */
    const struct run *run;   /* the run to measure, or whose settings to train with; NULL: none */
    const struct run *other; /* the run with which `run` is to take turns; NULL: it is alone */
    size_t threads;          /* those of the other measurements; 0: all cores */
};

struct advice {
    enum advise_verdict verdict;
    const char *technique; /* "none" unless the verdict is ADVISE_USE or ADVISE_TRY */
    char network[256], device[DEVICE_NAME_SIZE], data[640];
    bool powerful, assumed; /* whether the device is powerful, and whether that is assumed */
    size_t rows[ADVISE_ROWS], row_count; /* rows of the comparison that the advice is based on */
    char steps[ADVISE_STEPS][512];       /* the reasons, one sentence each, in order */
    size_t step_count;
    struct advise_missing missing[ADVISE_MISSING];
    size_t missing_count;
    struct advise_decision path[ADVISE_PATH]; /* the questions answered, in order */
    size_t path_count;
};

/* Fills `advice`. The comparison may hold runs of any networks; runs without a saved model are
 * ignored, and of several runs of one technique the most accurate one counts. Fails if the network
 * is not named and the runs are of several. */
bool advise(const struct comparison *comparison, const struct advise_request *request,
            struct advice *advice, struct error *error);

/* Returns the advice as JSON, owned by the caller, or NULL if memory runs out. */
struct json *advise_to_json(const struct comparison *comparison,
                            const struct advise_request *request, const struct advice *advice);

#endif
