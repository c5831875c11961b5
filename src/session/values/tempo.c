/* The median comes from a histogram of logarithms, whose size does not depend on the run's length:
 * 128 bins per octave, from 2^-24 ms to 2^24 ms, each with its geometric middle as value. */
#include "session/values/tempo.h"

#include <math.h>

enum { LOWEST_OCTAVE = -24 };

static size_t bin_of(double ms)
{
    double position = ms > 0 ? (log2(ms) - LOWEST_OCTAVE) * TEMPO_OCTAVE : 0;
    double last = TEMPO_OCTAVE * TEMPO_OCTAVES - 1;
    return (size_t)(position < 0 ? 0 : position > last ? last : position);
}

void tempo_add(struct tempo *tempo, double ms_per_image)
{
    size_t bin = bin_of(ms_per_image);
    tempo->recent[tempo->count % TEMPO_RECENT] = ms_per_image;
    tempo->bins[bin]++;
    if (tempo->count == 0 || bin < tempo->lowest)
        tempo->lowest = bin;
    if (tempo->count == 0 || bin > tempo->highest)
        tempo->highest = bin;
    tempo->count++;
}

double tempo_now(const struct tempo *tempo)
{
    size_t held = tempo->count < TEMPO_RECENT ? (size_t)tempo->count : TEMPO_RECENT;
    double sum = 0;
    for (size_t i = 0; i < held; i++)
        sum += tempo->recent[i];
    return held ? sum / (double)held : 0;
}

double tempo_median(const struct tempo *tempo)
{
    uint64_t half = (tempo->count + 1) / 2, seen = 0;
    if (tempo->count == 0)
        return 0;
    for (size_t bin = tempo->lowest; bin <= tempo->highest; bin++) {
        seen += tempo->bins[bin];
        if (seen >= half)
            return exp2(((double)bin + 0.5) / TEMPO_OCTAVE + LOWEST_OCTAVE);
    }
    return 0;
}
