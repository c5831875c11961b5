#include "ui/plot/axis_hold.h"

#include "base/clock.h"

static const uint64_t HOLD = 10000000000; /* nanoseconds */

struct axis axis_hold_take(struct axis_hold *hold, struct axis wanted, unsigned what)
{
    const uint64_t now = clock_nanoseconds();
    const struct axis *last = &hold->axis;
    const bool contains = hold->what == what && wanted.log == last->log &&
                          wanted.low >= last->low && wanted.high <= last->high;
    if (now < hold->until && contains)
        return *last;
    const bool same = contains && wanted.low <= last->low && wanted.high >= last->high;
    if (!same)
        *hold = (struct axis_hold){.axis = wanted, .what = what, .until = now + HOLD};
    return wanted;
}
