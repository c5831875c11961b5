/* advise.h: the dissertation's flowchart for developers, over the user's own measured runs.
 *
 *   1. the network meets the requirements on the device as it is: leave it alone;
 *   2. it is to be faster, on a powerful device: the techniques do not help, look elsewhere;
 *   3. it is to be faster, on a weak device: shift;
 *   4. it is to be smaller: shift, then dsc, then shuffle; only shift when latency matters as well.
 *
 * Every answer is read off rows of the table (compare.h) or is not given: what no row tells is
 * listed with the command that would measure it. A device counts as weak where shift was measured
 * to be faster than the plain network, as powerful where it was not; before that is measured, what
 * the studies found is assumed (cuda: powerful), and said to be an assumption.
 */
#ifndef TINCA_SESSION_COMPARE_ADVISE_H
#define TINCA_SESSION_COMPARE_ADVISE_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/devices/device.h"
#include "session/compare/compare.h"

#include <stddef.h>

enum advise_need { ADVISE_FASTER, ADVISE_SMALLER, ADVISE_BOTH };
extern const char *const advise_need_names[]; /* NULL-terminated */

struct advise_request {
    const char *network; /* without technique, "resnet20-0.36"; NULL: the only one there is */
    const char *device;  /* "weak", "powerful", or the name of one */
    enum advise_need need;
    double limit_ms;    /* of one image; NaN: as fast as the techniques make it */
    double limit_mb;    /* of the saved model, 10^6 bytes; NaN: smaller than it is */
    double accept_loss; /* points of top-1 accuracy */
};
#define ADVISE_ACCEPT_LOSS 5.0

enum advise_verdict {
    ADVISE_KEEP,      /* the network as it is */
    ADVISE_USE,       /* the technique: measured to meet what was asked for */
    ADVISE_TRY,       /* the technique is next in the flowchart, but not all of it is known */
    ADVISE_MEASURE,   /* what decides between keeping it and looking elsewhere is not known */
    ADVISE_ELSEWHERE, /* no technique helps here */
};
const char *advise_verdict_name(enum advise_verdict verdict);

enum { ADVISE_ROWS = 4, ADVISE_STEPS = 16, ADVISE_GAPS = 8, ADVISE_PATH = 8 };

/* The questions of the flowchart, and how one was answered. */
enum advise_question {
    ADVISE_MEETS,       /* does the network meet the requirements as it is? */
    ADVISE_NEEDS_SPEED, /* is it to be faster? */
    ADVISE_POWERFUL,    /* is the device a powerful one? */
    ADVISE_SUFFICES,    /* does a technique do? */
};
enum advise_reply { ADVISE_NO, ADVISE_YES, ADVISE_UNKNOWN };
struct advise_decision {
    enum advise_question question;
    const char *technique; /* of ADVISE_SUFFICES */
    enum advise_reply reply;
    bool assumed; /* nobody has measured it */
};

/* What is not known, and what would tell. */
struct advise_gap {
    char what[160], command[1024];
    bool training;         /* the technique is to be trained, else the run to be measured */
    const char *technique; /* to be trained */
    const struct run *run; /* to be measured, or to be trained like; NULL: there is none */
    size_t threads;        /* that others were measured with; 0: all cores */
};

struct advice {
    enum advise_verdict verdict;
    const char *technique; /* "none" unless the verdict is to use or to try one */
    char network[64], device[DEVICE_NAME_SIZE], data[512];
    bool powerful, assumed;              /* the device; nobody has measured it */
    size_t rows[ADVISE_ROWS], row_count; /* rows of the comparison that were read */
    char steps[ADVISE_STEPS][320];       /* sentences, in order */
    size_t step_count;
    struct advise_gap gaps[ADVISE_GAPS];
    size_t gap_count;
    struct advise_decision path[ADVISE_PATH]; /* through the flowchart, in order */
    size_t path_count;
};

/* The comparison holds the runs of any networks; a run that saved no model is not looked at. Of
 * several runs of one technique the most accurate one is read. Refuses a network that cannot be
 * told from the runs. */
bool advise(const struct comparison *comparison, const struct advise_request *request,
            struct advice *advice, struct error *error);

/* NULL: out of memory. */
struct json *advise_to_json(const struct comparison *comparison,
                            const struct advise_request *request, const struct advice *advice);

#endif
