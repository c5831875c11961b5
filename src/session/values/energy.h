/* energy.h: the energy that was used between two moments, as plain values. */
#ifndef TINCA_SESSION_VALUES_ENERGY_H
#define TINCA_SESSION_VALUES_ENERGY_H

#include <stdbool.h>

enum { ENERGY_REASON_SIZE = 320 };

/* Counters change about once in a millisecond: what is shorter is not known. */
#define ENERGY_LEAST_SECONDS 0.05

struct energy {
    bool known;
    double joules, seconds;
    char why_unknown[ENERGY_REASON_SIZE]; /* if it is not known */
};

#endif
