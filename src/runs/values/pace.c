/* A mark is stored at most once a second, so that the ring always reaches a minute back, however
 * fast the iterations are. The measurement goes from the newest mark that is at least a minute old,
 * or from the oldest one, to the last iteration. */
#include "runs/values/pace.h"

#include <math.h>

static void put_mark(struct pace *pace)
{
    pace->marks[pace->count % PACE_MARKS] = pace->now;
    pace->count++;
}

void pace_add(struct pace *pace, double seconds, uint64_t iteration)
{
    if (pace->count > 0 && (iteration <= pace->now.iteration || seconds < pace->now.seconds))
        *pace = (struct pace){0};
    pace->now = (struct pace_mark){seconds, iteration};
    if (pace->count == 0 || seconds - pace->marks[(pace->count - 1) % PACE_MARKS].seconds >= 1)
        put_mark(pace);
}

/* Returns the mark at which the last minute begins. */
static const struct pace_mark *first_mark(const struct pace *pace)
{
    const uint64_t held = pace->count < PACE_MARKS ? pace->count : PACE_MARKS;
    const struct pace_mark *mark = &pace->marks[(pace->count - 1) % PACE_MARKS];
    for (uint64_t back = 1; back <= held; back++) {
        mark = &pace->marks[(pace->count - back) % PACE_MARKS];
        if (pace->now.seconds - mark->seconds >= PACE_SECONDS)
            break;
    }
    return mark;
}

double pace_remaining(const struct pace *pace, uint64_t iterations)
{
    const struct pace_mark *first = pace->count > 0 ? first_mark(pace) : NULL;
    if (!first || pace->now.iteration == first->iteration)
        return -1;
    return (pace->now.seconds - first->seconds) / (double)(pace->now.iteration - first->iteration) *
           (double)iterations;
}

/* --- speed --- */

/* The median comes from a histogram of logarithms, whose size does not depend on the run's length:
 * 128 bins per octave, from 2^-24 ms to 2^24 ms, each with its geometric middle as value. */

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
