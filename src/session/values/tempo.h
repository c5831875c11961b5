/* tempo.h: how fast a run is, kept up with every iteration. Internal to session/. */
#ifndef TINCA_SESSION_VALUES_TEMPO_H
#define TINCA_SESSION_VALUES_TEMPO_H

#include <stddef.h>
#include <stdint.h>

enum { TEMPO_RECENT = 16, TEMPO_OCTAVE = 128, TEMPO_OCTAVES = 48 };

/* Starts as {0}. */
struct tempo {
    uint64_t count;
    double recent[TEMPO_RECENT];
    uint32_t bins[TEMPO_OCTAVE * TEMPO_OCTAVES];
    size_t lowest, highest; /* bins in use */
};

void tempo_add(struct tempo *tempo, double ms_per_image);

double tempo_now(const struct tempo *tempo);    /* mean of the last 16; 0: none yet */
double tempo_median(const struct tempo *tempo); /* of all, within 0.3 %; 0: none yet */

#endif
