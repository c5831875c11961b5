/* probe.h: tries a saved model on a whole data set in the background, and on single images.
 *
 * A separate thread opens the model and evaluates the data set. Between two batches it answers
 * questions about single images, so an answer takes little time. One other thread may call these
 * functions; they never wait, except for short locks. By default the thread computes on one core,
 * so that a training at the same time is not slowed down.
 */
#ifndef TINCA_TRAINING_INSPECT_PROBE_H
#define TINCA_TRAINING_INSPECT_PROBE_H

#include "data/images/image.h"
#include "engine/devices/device.h"
#include "models/saved/evaluate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe;

struct probe_request {
    char model[1024];              /* path of a file of weights */
    char data[640];                /* SPEC; "": questions are about image files only */
    char device[DEVICE_NAME_SIZE]; /* "cpu" */
    size_t threads;                /* 0: all cores */
    double tolerance;              /* 8-bit levels by which a correct pixel may differ */
};

enum probe_phase { PROBE_IDLE, PROBE_OPENING, PROBE_EVALUATING, PROBE_READY, PROBE_FAILED };

/* The state of the probe. Pointers belong to it and are valid until the next probe_open. */
struct probe_status {
    enum probe_phase phase;
    struct error error; /* FAILED: the reason; READY: why the data set could not be evaluated; kind
                           ERROR_NONE if it was, or if none was requested */
    /* valid from EVALUATING on: */
    const char *network; /* name with suffixes */
    size_t classes;      /* 0: the network generates images */
    const char (*class_names)[64];
    size_t images; /* images in the data set; 0: there is none */
    const struct outcome *outcomes;
    size_t outcome_count; /* in the order of the set; all of them when READY */
    bool evaluated;       /* `evaluation` is valid */
    struct evaluation evaluation;
};

/* Starts the thread. Returns NULL with an error. */
struct probe *probe_create(struct error *error);

/* Ends the thread, at the latest after its current batch. NULL is allowed. */
void probe_free(struct probe *probe);

/* Opens another model and ends the present evaluation. Errors appear in probe_status. */
void probe_open(struct probe *probe, const struct probe_request *request);

/* Copies the present state. */
void probe_status(struct probe *probe, struct probe_status *status);

enum { PROBE_TOP = 5, PROBE_PICTURES = 3 };

/* The answer to a question about one image. */
struct probe_answer {
    unsigned ticket;
    char path[1024]; /* path of a file; "": image `index` of the data set */
    size_t index;
    char origin[256];   /* where the image comes from */
    struct error error; /* kind ERROR_NONE: the rest is valid */
    bool labelled;      /* `label` is known */
    size_t label;
    struct prediction top[PROBE_TOP]; /* classifier: the most probable classes, best first */
    size_t top_count;
    bool unranked; /* the logits have no order: there is no top */
    /* the network's input; if it generates images also its output and, for the data set, the
     * target. Empty if these do not have one or three channels */
    struct image pictures[PROBE_PICTURES];
    size_t picture_count;
};

/* Asks about a file or, if `path` is NULL, about an image of the data set. A question replaces the
 * previous one if it is not answered yet. Returns a ticket, never 0, which the answer repeats. */
unsigned probe_ask(struct probe *probe, const char *path, size_t index);

/* Moves the latest answer to the caller, who frees it. Returns false if there is no new one. */
bool probe_take(struct probe *probe, struct probe_answer *answer);
void probe_answer_free(struct probe_answer *answer);

#endif
