/* probe.h: a saved model tried out: on a whole data set in the background, and on single images.
 *
 * One thread of its own computes. It opens the model, goes through the data set, and between two
 * batches of that answers what it is asked about single images, so that nobody waits for long. The
 * caller, one thread too, never waits but for short locks. It takes one thread to compute by
 * default, so that a training beside it keeps its speed.
 */
#ifndef TINCA_SESSION_INSPECT_PROBE_H
#define TINCA_SESSION_INSPECT_PROBE_H

#include "data/images/image.h"
#include "engine/devices/device.h"
#include "session/model/evaluate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe;

struct probe_request {
    char model[1024];              /* path of a file of weights */
    char data[512];                /* SPEC; "": there are only image files to ask about */
    char device[DEVICE_NAME_SIZE]; /* "cpu" */
    size_t threads;                /* 0: all cores */
    double tolerance;              /* of pixels, of 255 */
};

enum probe_phase { PROBE_IDLE, PROBE_OPENING, PROBE_EVALUATING, PROBE_READY, PROBE_FAILED };

/* How it stands. Pointers are the probe's and hold until the next probe_open. */
struct probe_status {
    enum probe_phase phase;
    struct error error; /* FAILED: why; READY: why there is no data set (kind ERROR_NONE: there is,
                           or none was asked for) */
    /* from EVALUATING on: */
    const char *network; /* with its suffixes */
    size_t classes;      /* 0: it makes pictures */
    const char (*class_names)[64];
    size_t images; /* of the data set; 0: none */
    const struct outcome *outcomes;
    size_t outcome_count; /* in the order of the set; all of them when READY */
    bool evaluated;       /* `evaluation` is there */
    struct evaluation evaluation;
};

/* Starts the thread, which waits. */
struct probe *probe_create(struct error *error);
/* Ends it, at the latest after a batch. May be NULL. */
void probe_free(struct probe *probe);

/* Opens another model; what was on ends first. What is wrong comes with probe_status. */
void probe_open(struct probe *probe, const struct probe_request *request);
void probe_status(struct probe *probe, struct probe_status *look);

enum { PROBE_TOP = 5, PROBE_PICTURES = 3 };

/* What was found out about one image. */
struct probe_answer {
    unsigned ticket;
    char path[1024]; /* of a file; "": image `index` of the data set */
    size_t index;
    char origin[256];   /* where the image comes from */
    struct error error; /* kind ERROR_NONE: the rest is there */
    bool labelled;      /* `label` is known */
    size_t label;
    struct prediction top[PROBE_TOP]; /* networks that tell classes: the most probable first */
    size_t top_count;
    /* what the network saw; of networks that make pictures then what it made and, of the data set,
     * the target. None: it is no picture of one or three channels */
    struct image pictures[PROBE_PICTURES];
    size_t picture_count;
};

/* Asks about a file, or (path NULL) about an image of the data set. Only the latest question
 * counts. Returns its ticket, never 0. */
unsigned probe_ask(struct probe *probe, const char *path, size_t index);

/* Moves the newest answer to the caller, who frees it. False: there is no new one. */
bool probe_take(struct probe *probe, struct probe_answer *answer);
void probe_answer_free(struct probe_answer *answer);

#endif
