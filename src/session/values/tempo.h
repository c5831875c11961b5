/* tempo.h: the speed of a run in ms/image, now and over all iterations. Internal to session/. */
#ifndef TINCA_SESSION_VALUES_TEMPO_H
#define TINCA_SESSION_VALUES_TEMPO_H

#include <stddef.h>
#include <stdint.h>

enum { TEMPO_RECENT = 16, TEMPO_OCTAVE = 128, TEMPO_OCTAVES = 48 };

/* Initialise it with {0}. */
struct tempo {
    uint64_t count;
    double recent[TEMPO_RECENT];                 /* a ring buffer */
    uint32_t bins[TEMPO_OCTAVE * TEMPO_OCTAVES]; /* a histogram with logarithmic bins */
    size_t lowest, highest;                      /* bins in use */
};

void tempo_add(struct tempo *tempo, double ms_per_image);

/* Return ms/image: the mean of the last 16 iterations, and the median of all, within 0.3 %; 0 if
 * there is none yet. */
double tempo_now(const struct tempo *tempo);
double tempo_median(const struct tempo *tempo);

#endif
