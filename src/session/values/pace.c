/* A mark is stored at most once a second, so that the ring always reaches a minute back, however
 * fast the iterations are. The measurement goes from the newest mark that is at least a minute old,
 * or from the oldest one, to the last iteration. */
#include "session/values/pace.h"

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
