#include "models/measure/inference_time.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

enum { WARM_UP = 3, LEAST = 30, MOST = 1000 };
static const double seconds_enough = 0.5;

float *inference_image(const struct model *model, struct error *error)
{
    const size_t count = shape_count(model->network->input);
    float *image = memory_new_aligned(count, sizeof *image, "an image", error);
    if (image)
        random_fill_gaussian(1, RANDOM_BENCH, 0, 0, 0, 1, image, count);
    return image;
}

/* Infers an image `count` times, and stores the milliseconds of each unless `ms` is NULL. Returns
 * false with an error. */
static bool inference_timed(struct model *model, const float *image, size_t count, double *ms,
                            struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t start = clock_nanoseconds();
        if (!model_infer(model, image, i, error))
            return false;
        if (ms)
            ms[i] = 1e3 * clock_seconds(start, clock_nanoseconds());
    }
    return true;
}

/* Measures `count` models in turn. Writes the times of model m to ms[m * MOST...] and returns how
 * many each has; 0 with an error. */
static size_t measure(struct model *const *models, size_t count, double *ms, struct error *error)
{
    float *image = inference_image(models[0], error);
    bool good = image;
    size_t done = 0;
    for (size_t m = 0; good && m < count; m++)
        good = inference_timed(models[m], image, WARM_UP, NULL, error);
    const uint64_t start = clock_nanoseconds();
    while (good && done < MOST &&
           (done < LEAST ||
            clock_seconds(start, clock_nanoseconds()) < seconds_enough * (double)count)) {
        for (size_t m = 0; good && m < count; m++)
            good = inference_timed(models[m], image, 1, ms + m * MOST + done, error);
        done++;
    }
    free(image);
    return good ? done : 0;
}

bool inference_time(struct model *model, struct statistics *ms, struct error *error)
{
    double *times = memory_new(MOST, sizeof *times, "times", error);
    const size_t count = times ? measure(&model, 1, times, error) : 0;
    const bool measured = count > 0 && statistics_compute(times, count, ms, error);
    free(times);
    return measured;
}

bool inference_times(struct model *first, struct model *second, struct statistics ms[2],
                     struct error *error)
{
    struct model *const models[] = {first, second};
    double *times = memory_new(2 * (size_t)MOST, sizeof *times, "times", error);
    const size_t count = times ? measure(models, 2, times, error) : 0;
    const bool measured = count > 0 && statistics_compute(times, count, &ms[0], error) &&
                          statistics_compute(times + MOST, count, &ms[1], error);
    free(times);
    return measured;
}
