/* The scale of the loss in float16 follows PyTorch's GradScaler step by step: start, growth after
 * an interval without overflow, backoff, what counts as skipped, and the limits of float. */
#include "engine/training/loss_scale.h"

#include "tap.h"

#include <stddef.h>

/* A sequence of steps, and the state after it. */
struct scaled_steps {
    size_t count;
    bool overflow;
    float scale;
    uint64_t tracker, skipped;
};
#include "engine/loss_scale_golden.h"

/* Returns whether the scale changes within the row only where GradScaler changes it: by backoff at
 * each overflow, by growth when the interval is over. */
static bool changes_are_right(const struct loss_scale *before, const struct loss_scale *after,
                              bool overflow)
{
    if (overflow)
        return after->scale == before->scale * golden_backoff && after->steps == 0;
    if (before->steps + 1 < GOLDEN_INTERVAL)
        return after->scale == before->scale && after->steps == before->steps + 1;
    return (after->scale == before->scale * golden_growth || before->scale == 0x1p127f) &&
           after->steps == 0;
}

static void test_rows(const char *name, float start, const struct scaled_steps *rows, size_t count)
{
    struct loss_scale scale = {.scale = start};
    size_t steps = 0;
    for (size_t r = 0; r < count; r++) {
        bool right = true;
        for (size_t i = 0; i < rows[r].count; i++) {
            const struct loss_scale before = scale;
            loss_scale_step(&scale, rows[r].overflow);
            right = right && changes_are_right(&before, &scale, rows[r].overflow);
            steps++;
        }
        tap_ok(right && scale.scale == rows[r].scale && scale.steps == rows[r].tracker &&
                   scale.skipped == rows[r].skipped,
               "%s, step %zu: scale %a, %llu steps without overflow, %llu skipped", name, steps,
               (double)scale.scale, (unsigned long long)scale.steps,
               (unsigned long long)scale.skipped);
    }
}

TEST_CASE(loss_scale_test)
{
    const struct loss_scale start = loss_scale_start();
    tap_ok(start.scale == usual_start && start.steps == 0 && start.skipped == 0,
           "training begins with PyTorch's scale");
    test_rows("usual", start.scale, usual, sizeof usual / sizeof *usual);
    test_rows("largest", largest_start, largest, sizeof largest / sizeof *largest);
    return tap_done();
}
