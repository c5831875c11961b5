/* blocked_weights.h: the gradient of a convolution's weights on channel-blocked arrays. Only the
 * kernels of this folder use it.
 *
 * The results are terms: [input block][window element][lane], or [input channel][window element]
 * for a plain input, each for all output channels. If a block has output channels of two groups, it
 * gets the terms of both groups, and the results of a channel for the other group's terms are left
 * out.
 *
 * blocked_weights.c divides the sums into tasks, and those into chunks of positions.
 * blocked_weights_compute.c adds a chunk with vectors, amx_weights_compute.c with AMX.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_BLOCKED_WEIGHTS_H
#define TINCA_ENGINE_DEVICES_CPU_BLOCKED_WEIGHTS_H

#include "engine/devices/cpu/blocked_conv.h"

struct weights_job {
    struct blocked_conv conv; /* the forward pass: how the input is read */
    const struct kernel_call *call;
    struct blocked gradient;
    size_t lanes;                  /* terms of an input block under one window element */
    size_t planes;                 /* input blocks of all groups */
    size_t terms;                  /* of all input blocks */
    size_t partials, plane_chunks; /* chunks of the images; of the input blocks */
    size_t chunk_images, chunk_rows;
    float *results; /* [partial][output block][term][lane] */
    /* set by weights_arrange: */
    size_t offset_count;
    size_t *offsets; /* of the window elements in an input block */
    bool copied;     /* tiles read a copy of the input */
    element *copies; /* per thread: the input blocks of a task, for a chunk */
    size_t copy_image, copy_elements;
};

/* The sums of one task: images [first, last) for input blocks [plane, plane + planes). */
struct weights_share {
    size_t first, last, plane, planes;
    float *results; /* of the partial result */
};

/* Rows [begin, end) of the output of `images` images from number `image` on. */
struct weights_chunk {
    size_t image, images, begin, end;
};

/* Returns the most input blocks of a share. */
static inline size_t weights_share_planes(const struct weights_job *job)
{
    return divide_up(job->planes, job->plane_chunks);
}

/* Sets the size of chunks, of about `positions` positions each: a number of whole images, at most
 * `images`, or some rows of one image. */
static inline void weights_set_chunk(struct weights_job *job, size_t images, size_t positions)
{
    const struct shape out = job->conv.to;
    const size_t chunks = divide_up(shape_area(out), positions);
    job->chunk_rows = divide_up(out.height, min_size(chunks, out.height));
    job->chunk_images = max_size(1, min_size(images, positions / shape_area(out)));
}

/* Sets [*begin, *end) to the input blocks of a share that output blocks [block, block + blocks)
 * need: those of their groups. */
static inline void weights_planes_needed(const struct weights_job *job,
                                         const struct weights_share *share, size_t block,
                                         size_t blocks, size_t *begin, size_t *end)
{
    const struct blocked_conv *c = &job->conv;
    size_t first, last, ignored;
    KERNEL(blocked_conv_groups)(c, block, &first, &ignored);
    KERNEL(blocked_conv_groups)(c, block + blocks - 1, &ignored, &last);
    *begin = max_size(share->plane, first * c->from_channels / job->lanes);
    *end = min_size(share->plane + share->planes, divide_up(last * c->from_channels, job->lanes));
}

/* Sets the size of chunks, the number of offsets, and the copies. `images` is the number of the
 * largest share. */
void KERNEL(weights_arrange)(struct weights_job *job, size_t images);

/* Writes the offsets. */
void KERNEL(weights_set_offsets)(const struct weights_job *job);

/* Adds a chunk to the results of a share. `copy` is the thread's memory for copies. */
void KERNEL(weights_add_chunk)(const struct weights_job *job, const struct weights_share *share,
                               const struct weights_chunk *chunk, element *copy);

#endif
