/* finding.h: what the program noticed about a run, in words. */
#ifndef TINCA_SESSION_VALUES_FINDING_H
#define TINCA_SESSION_VALUES_FINDING_H

#include <stddef.h>
#include <stdint.h>

enum finding_kind {
    FINDING_NEGATIVE_LOSS, /* Caffe's running mean fell below zero */
    FINDING_RESIDUE,       /* Caffe's running mean is above zero, and mostly residue */
    FINDING_OVERFITTING,   /* validation loss rises while training loss falls */
    FINDING_DIVERGENCE,    /* a value that is no number; the run stops */
    FINDING_PLATEAU,       /* the schedule lowered the rate */
    FINDING_MEMORY,        /* measured memory left the forecast */
    FINDING_DATA,          /* images that could not be read were left out */
    FINDING_RESUME,        /* it went on with another program, processor or library */
    FINDING_JOURNAL,       /* the run's journal is not what the run wrote: the curves have holes */
    FINDING_FALLBACK,      /* the reference kernel computes layers that the device cannot */
};

struct finding {
    enum finding_kind kind;
    uint64_t iteration; /* where it set in */
    double epoch;
    char text[320];
};

enum { FINDINGS_MAX = 64 };

const char *finding_kind_name(enum finding_kind kind);  /* "negative-loss" */
const char *finding_kind_words(enum finding_kind kind); /* "negative loss" */

#endif
