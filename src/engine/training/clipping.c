#include "engine/training/clipping.h"

#include "base/threads/pool.h"

#include <math.h>

enum { CHUNKS = 256, LANES = 8 }; /* their number is fixed, so sums do not depend on the threads */

struct clip {
    const struct gradient_clipping *clipping;
    float *gradients, factor;
    size_t count;
    double squares[CHUNKS];
};

static size_t chunk_begin(const struct clip *clip, size_t chunk)
{
    return clip->count / CHUNKS * chunk + clip->count % CHUNKS * chunk / CHUNKS;
}

/* Adds the squares of one chunk, in several sums that the compiler can put into a vector. */
static void square_task(void *context, size_t chunk, size_t thread)
{
    (void)thread;
    struct clip *clip = context;
    const size_t end = chunk_begin(clip, chunk + 1);
    const float *gradients = clip->gradients;
    double sums[LANES] = {0}, total = 0;
    size_t i = chunk_begin(clip, chunk);
    for (; i + LANES <= end; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += (double)gradients[i + lane] * (double)gradients[i + lane];
    for (; i < end; i++)
        total += (double)gradients[i] * (double)gradients[i];
    for (size_t lane = 0; lane < LANES; lane++)
        total += sums[lane];
    clip->squares[chunk] = total;
}

static void clip_task(void *context, size_t chunk, size_t thread)
{
    (void)thread;
    const struct clip *clip = context;
    const size_t end = chunk_begin(clip, chunk + 1);
    const float factor = clip->factor, value = clip->clipping->value;
    float *gradients = clip->gradients;
    for (size_t i = chunk_begin(clip, chunk); i < end; i++) {
        gradients[i] *= factor;
        if (value > 0 && fabsf(gradients[i]) > value)
            gradients[i] = copysignf(value, gradients[i]);
    }
}

/* Returns the factor that limits the norm of all gradients. */
static float norm_factor(struct clip *clip, struct pool *pool)
{
    const double norm = (double)clip->clipping->norm;
    double sum = 0;
    if (norm <= 0)
        return 1;
    pool_run(pool, CHUNKS, square_task, clip);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++)
        sum += clip->squares[chunk];
    const double factor = norm / (sqrt(sum) + 1e-6);
    if (!isfinite(sum))
        return NAN;
    return factor < 1 ? (float)factor : 1;
}

void gradients_clip(const struct gradient_clipping *clipping, float *gradients, size_t count,
                    struct pool *pool)
{
    struct clip clip = {.clipping = clipping, .gradients = gradients, .count = count};
    if (clipping->norm <= 0 && clipping->value <= 0)
        return;
    clip.factor = norm_factor(&clip, pool);
    if (clip.factor < 1 || isnan(clip.factor) || clipping->value > 0)
        pool_run(pool, CHUNKS, clip_task, &clip);
}
