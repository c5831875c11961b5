/* energy.h: the energy that was used between two moments, as plain values. */
#ifndef TINCA_SESSION_VALUES_ENERGY_H
#define TINCA_SESSION_VALUES_ENERGY_H

#include <stdbool.h>

enum { ENERGY_REASON_SIZE = 320 };

/* What is shorter is not known: the counters of processors change about once in a millisecond,
 * those of GPUs once in 20 to 100 ms. */
#define ENERGY_LEAST_SECONDS     0.05
#define ENERGY_LEAST_GPU_SECONDS 0.5

struct energy {
    bool known;
    double joules, seconds;
    char why_unknown[ENERGY_REASON_SIZE]; /* if it is not known */
};

#endif
