/* pace.h: how fast a run is: its pace in the last minute, from which the remaining time follows,
 * and its speed in ms/image. The pace is measured on the run's own clock, which stands still in
 * pauses only; so validations and checkpoints are part of it. */
#ifndef TINCA_RUNS_VALUES_PACE_H
#define TINCA_RUNS_VALUES_PACE_H

#include <stddef.h>
#include <stdint.h>

enum { PACE_SECONDS = 60, PACE_MARKS = PACE_SECONDS + 2 };

/* Initialise it with {0}, also when a run goes on in another process. */
struct pace {
    struct pace_mark {
        double seconds;
        uint64_t iteration;
    } marks[PACE_MARKS], now; /* a ring buffer, at most one mark a second; and the last iteration */
    uint64_t count;           /* marks so far */
};

/* Adds an iteration that ended when the run had taken `seconds`. An iteration or a time before the
 * last one begins the measurement again. */
void pace_add(struct pace *pace, double seconds, uint64_t iteration);

/* Returns the expected seconds for `iterations` more; -1 if fewer than two iterations were added.
 */
double pace_remaining(const struct pace *pace, uint64_t iterations);

/* --- speed in ms/image, now and over all iterations --- */

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
