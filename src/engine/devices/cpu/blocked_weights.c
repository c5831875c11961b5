/* The gradients of weight and bias of a convolution on channel-blocked arrays.
 *
 *   weight'[o][i][t] = sum over images and positions p of gradient[o][p] * input[i][p + t]
 *
 * A task computes the partial results of some images for some input blocks, chunk by chunk
 * (blocked_weights.h); the partial results are added in order. Their number depends on shapes only.
 */
#include "engine/devices/cpu/blocked_weights.h"

enum { WANTED_TASKS = 32 };

/* --- the job --- */

static struct weights_job job_make(const struct kernel_site *site, struct carve *carve)
{
    struct carve none = {0};
    struct weights_job job = {.conv =
                                  KERNEL(blocked_conv_make)(site, false, site->layouts[0], &none)};
    const struct blocked_conv *c = &job.conv;
    job.lanes = c->source.block;
    job.planes = divide_up(c->from.channels, job.lanes);
    job.terms = job.planes * c->sizes.taps * job.lanes;
    const size_t floats = c->out_blocks * job.terms * LANES;
    job.partials = conv_partials(site->batch, floats);
    job.plane_chunks = min_size(job.planes, divide_up(WANTED_TASKS, job.partials));
    KERNEL(weights_arrange)(&job, divide_up(site->batch, job.partials));
    job.offsets = carve_bytes(carve, job.offset_count * sizeof *job.offsets);
    job.results = carve_floats(carve, job.partials * floats);
    job.copies = carve_elements(carve, job.copy_elements * site->threads);
    return job;
}

static size_t job_bytes(const struct kernel_site *site)
{
    struct carve carve = {0};
    job_make(site, &carve);
    return carve.used;
}

size_t KERNEL(blocked_weights_workspace)(const struct kernel_site *site)
{
    return conv_most_bytes(site, job_bytes);
}

/* --- the sums --- */

static struct weights_share share_of(const struct weights_job *job, size_t task)
{
    const size_t chunk = task % job->plane_chunks, partial = task / job->plane_chunks;
    const size_t batch = job->call->site->batch;
    const size_t floats = job->conv.out_blocks * job->terms * LANES;
    const size_t plane = chunk_begin(job->planes, job->plane_chunks, chunk);
    return (struct weights_share){.first = chunk_begin(batch, job->partials, partial),
                                  .last = chunk_begin(batch, job->partials, partial + 1),
                                  .plane = plane,
                                  .planes = chunk_begin(job->planes, job->plane_chunks, chunk + 1) -
                                            plane,
                                  .results = job->results + partial * floats};
}

static void clear_share(const struct weights_job *job, const struct weights_share *share)
{
    const size_t terms = job->conv.sizes.taps * job->lanes;
    for (size_t block = 0; block < job->conv.out_blocks; block++)
        floats_clear(share->results + (block * job->terms + share->plane * terms) * LANES,
                     share->planes * terms * LANES);
}

static void weights_task(void *context, size_t task, size_t thread)
{
    const struct weights_job *job = context;
    const struct weights_share share = share_of(job, task);
    const size_t height = job->conv.to.height;
    element *copy = job->copies + thread * job->copy_elements;
    const uint64_t start = profile_start(job->call->profile);
    clear_share(job, &share);
    for (size_t n = share.first; n < share.last; n += job->chunk_images)
        for (size_t y = 0; y < height; y += job->chunk_rows) {
            const struct weights_chunk chunk = {.image = n,
                                                .images =
                                                    min_size(job->chunk_images, share.last - n),
                                                .begin = y,
                                                .end = min_size(y + job->chunk_rows, height)};
            KERNEL(weights_add_chunk)(job, &share, &chunk, copy);
        }
    const size_t first = share.plane * job->lanes;
    const size_t channels = min_size(first + share.planes * job->lanes, job->conv.from.channels);
    profile_add_gemm(job->call->profile, thread, GEMM_NT, job->conv.to.channels,
                     (channels - first) * job->conv.sizes.taps / job->conv.sizes.groups,
                     (share.last - share.first) * shape_area(job->conv.to), start);
}

/* --- adding the partial results --- */

/* Returns the term of an input channel under a window element. */
static size_t term_of(const struct weights_job *job, size_t channel, size_t t)
{
    const size_t taps = job->conv.sizes.taps;
    return (channel / job->lanes * taps + t) * job->lanes + channel % job->lanes;
}

/* Adds `count` values of all partial results to those of the first one. */
static void add_partials(const struct weights_job *job, float *sum, size_t count)
{
    const size_t floats = job->conv.out_blocks * job->terms * LANES;
    for (size_t partial = 1; partial < job->partials; partial++) {
        const float *more = sum + partial * floats;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] += more[i];
    }
}

/* Writes the gradient of the weights between one output block and one input block. */
static void reduce_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct weights_job *job = context;
    const struct conv_sizes *s = &job->conv.sizes;
    const size_t block = task / job->planes, plane = task % job->planes;
    const size_t terms = s->taps * job->lanes;
    float *results = job->results + block * job->terms * LANES;
    add_partials(job, results + plane * terms * LANES, terms * LANES);
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t o = block * LANES + lane, group = o / s->outputs;
        if (o >= job->conv.to.channels)
            continue;
        const size_t begin = max_size(plane * job->lanes, group * s->inputs);
        const size_t end = min_size((plane + 1) * job->lanes, (group + 1) * s->inputs);
        float *to = job->call->parameter_gradients[0] + o * s->inputs * s->taps;
        for (size_t i = begin; i < end; i++)
            for (size_t t = 0; t < s->taps; t++)
                to[(i - group * s->inputs) * s->taps + t] =
                    results[term_of(job, i, t) * LANES + lane];
    }
}

void KERNEL(blocked_weights_backward)(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct weights_job job = job_make(call->site, &carve);
    job.call = call;
    job.conv.call = call;
    job.conv.in = blocked_input(call, 0);
    job.gradient =
        blocked_make(call->output_gradient, call->site->node->output, call->site->output_layout);
    KERNEL(weights_set_offsets)(&job);
    run_tasks(call, job.partials * job.plane_chunks, weights_task, &job);
    run_tasks(call, job.conv.out_blocks * job.planes, reduce_task, &job);
}

/* --- bias --- */

static void bias_task(void *context, size_t block, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct blocked g =
        blocked_make(call->output_gradient, call->site->node->output, call->site->output_layout);
    double sums[LANES] = {0};
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t y = 0; y < g.shape.height; y++) {
            const element *row = blocked_at(&g, n, block, y);
            vector sum = {0};
            for (size_t x = 0; x < g.shape.width; x++)
                sum += element_load(row + x * LANES);
            for (size_t lane = 0; lane < LANES; lane++)
                sums[lane] += sum[lane];
        }
    for (size_t c = block * LANES; c < min_size((block + 1) * LANES, g.shape.channels); c++)
        call->parameter_gradients[1][c] = (float)sums[c % LANES];
}

void KERNEL(blocked_bias_backward)(const struct kernel_call *call)
{
    run_tasks(call, divide_up(call->site->node->output.channels, LANES), bias_task, call);
}
