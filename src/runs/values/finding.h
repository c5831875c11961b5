/* finding.h: a message about something that the program noticed in a run. */
#ifndef TINCA_RUNS_VALUES_FINDING_H
#define TINCA_RUNS_VALUES_FINDING_H

#include <stddef.h>
#include <stdint.h>

enum finding_kind {
    FINDING_NEGATIVE_LOSS, /* Caffe's running mean fell below zero */
    FINDING_RESIDUE,     /* Caffe's running mean is above zero, mostly accumulated rounding error */
    FINDING_OVERFITTING, /* validation loss rises while training loss falls */
    FINDING_DIVERGENCE,  /* a value is NaN or infinite; the run stops */
    FINDING_PLATEAU,     /* the learning-rate schedule lowered the rate */
    FINDING_MEMORY,      /* measured memory differs from the forecast */
    FINDING_DATA,        /* images that could not be read were left out */
    FINDING_RESUME,      /* the run was resumed with another version, processor or library */
    FINDING_JOURNAL,     /* the journal is not what the run wrote: the curves have gaps */
    FINDING_FALLBACK,    /* the reference kernel computes layers that the device cannot */
    FINDING_WEIGHTS,     /* the run began with the weights of a file */
    FINDING_EARLY_STOP,  /* validations had stopped getting better, and the run ended */
    FINDING_TIME,        /* the run was stopped at its maximum time */
    FINDING_GRAPH,       /* the device refused to record an iteration as a CUDA graph */
    FINDING_LOSS_SCALE,  /* fp16: a gradient overflowed, so a step was skipped */
    FINDING_TENSORBOARD, /* TensorBoard's event file ended before the run */
    FINDING_SCALING,     /* one process took no longer, or ranks cannot share memory */
    FINDING_CUDNN,       /* cuDNN refused a convolution, which another kernel computes */
    FINDING_KINDS
};

enum { FINDING_SIZE = 320 };

struct finding {
    enum finding_kind kind;
    uint64_t iteration; /* at which it began */
    double epoch;
    char text[FINDING_SIZE];
};

enum { FINDINGS_MAX = 64 };

/* Return the name of a kind in files, "negative-loss", and in messages, "negative loss". */
const char *finding_kind_name(enum finding_kind kind);
const char *finding_kind_words(enum finding_kind kind);

#endif
