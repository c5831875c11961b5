/* blocked.h: channel-blocked arrays (struct tensor_layout) and helpers of the kernels for them.
 * Only the kernels of this folder use it.
 *
 * A block of LANES channels of one position fills a vector. A plane is one block of channels of one
 * image, with its padding, which the kernel that writes the plane fills with zeros. Between two
 * rows of a plane may lie those of other planes (tensor_layout.by_rows).
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_BLOCKED_H
#define TINCA_ENGINE_DEVICES_CPU_BLOCKED_H

#include "engine/devices/cpu/elements.h"
#include "engine/graph/machine_model.h"

/* One of the arrays of a call. */
struct blocked {
    element *values;
    struct shape shape;
    bool is_blocked; /* else it is plain */
    size_t pad;
    size_t row, plane, image; /* elements from one to the next */
    size_t origin;            /* elements before position (0, 0) of the first plane */
};

static inline struct blocked blocked_make(const void *values, struct shape shape,
                                          struct tensor_layout layout)
{
    return (struct blocked){.values = (element *)values,
                            .shape = shape,
                            .is_blocked = layout.block > 0,
                            .pad = layout.pad,
                            .row = tensor_row(layout, shape),
                            .plane = tensor_plane(layout, shape),
                            .image = tensor_image(layout, shape),
                            .origin = tensor_origin(layout, shape)};
}

static inline struct blocked blocked_input(const struct kernel_call *call, size_t k)
{
    return blocked_make(call->inputs[k], call->site->inputs[k], call->site->layouts[k]);
}

static inline struct blocked blocked_output(const struct kernel_call *call)
{
    return blocked_make(call->output, call->site->node->output, call->site->output_layout);
}

/* Returns the blocks of an array's channels. */
static inline size_t blocked_planes(const struct blocked *array)
{
    return divide_up(array->shape.channels, LANES);
}

/* Returns position (0, y) of block `plane` of an image. */
static inline element *blocked_at(const struct blocked *array, size_t image, size_t plane, size_t y)
{
    return array->values + image * array->image + plane * array->plane + array->origin +
           y * array->row;
}

static inline void blocked_clear(element *values, size_t count)
{
    memset(values, 0, count * sizeof *values);
}

/* Sets floats that are not elements to 0, such as sums. */
static inline void floats_clear(float *values, size_t count)
{
    memset(values, 0, count * sizeof *values);
}

/* Fills the padding of rows [begin, end) of a plane, and that above and below if the first or the
 * last row is among them. */
static inline void blocked_pad(const struct blocked *array, size_t image, size_t plane,
                               size_t begin, size_t end)
{
    const size_t pad = array->pad, line = (array->shape.width + 2 * pad) * LANES;
    element *rows = array->values + image * array->image + plane * array->plane;
    if (pad == 0)
        return;
    for (size_t y = 0; y < pad && begin == 0; y++)
        blocked_clear(rows + y * array->row, line);
    rows += (pad + begin) * array->row;
    for (size_t y = begin; y < end; y++, rows += array->row)
        for (size_t x = 0; x < pad; x++) {
            element_store(rows + x * LANES, (vector){0});
            element_store(rows + line - (x + 1) * LANES, (vector){0});
        }
    for (size_t y = 0; y < pad && end == array->shape.height; y++)
        blocked_clear(rows + y * array->row, line);
}

/* Returns the tasks that a step at this site should have on `threads` threads, whose work is
 * `amount` times the figure `unit` (machine_tasks). */
static inline size_t tasks_wanted_of(const struct kernel_site *site, size_t threads,
                                     enum machine_figure unit, size_t amount)
{
    return machine_tasks(site->machine, unit, amount, threads);
}

/* Returns the same for the threads of a call. */
static inline size_t tasks_wanted(const struct kernel_call *call, enum machine_figure unit,
                                  size_t amount)
{
    return tasks_wanted_of(call->site, pool_threads(call->pool), unit, amount);
}

/* A division of all planes of a batch into tasks. A task computes the same rows of every plane of
 * an image, as the tasks of a convolution do: the thread that wrote a row then reads it in its own
 * cache. If there are fewer rows than tasks, a task computes whole planes. */
struct blocked_tasks {
    size_t batch, planes, height; /* planes of an image; rows of a plane */
    bool divides_rows;            /* a task has row blocks; else whole planes */
    size_t count;
};

/* Returns the tasks for an array, whose rows take `work` vector operations each. */
static inline struct blocked_tasks blocked_tasks_of(const struct kernel_call *call,
                                                    const struct blocked *array, size_t work)
{
    struct blocked_tasks tasks = {
        .batch = call->site->batch, .planes = blocked_planes(array), .height = array->shape.height};
    const size_t rows = tasks.batch * tasks.height, planes = tasks.batch * tasks.planes;
    const size_t wanted = tasks_wanted(call, MACHINE_OPERATION, rows * tasks.planes * work);
    tasks.divides_rows = rows >= wanted || rows >= planes;
    tasks.count = min_size(wanted, tasks.divides_rows ? rows : planes);
    return tasks;
}

/* Returns the row blocks into which blocked_tasks_of divides an image (kernel.h), by the same
 * rule; 0 if it divides the planes. */
static inline size_t blocked_row_blocks(const struct kernel_site *site, size_t work)
{
    const struct shape out = site->node->output;
    const size_t rows = site->batch * out.height, planes = divide_up(out.channels, LANES);
    const size_t wanted =
        tasks_wanted_of(site, site->threads, MACHINE_OPERATION, rows * planes * work);
    if (rows < wanted && out.height < planes)
        return 0;
    return min_size(divide_up(wanted, site->batch), out.height);
}

/* Rows [begin, end) of one plane of one image. */
struct row_block {
    size_t image, plane, begin, end;
    size_t next, last; /* rows of all images, or planes of all images, that follow in the task */
};

/* Returns a row block before the first one of a task, for blocked_next. */
static inline struct row_block blocked_first(const struct blocked_tasks *tasks, size_t task)
{
    const size_t items = tasks->batch * (tasks->divides_rows ? tasks->height : tasks->planes);
    return (struct row_block){.plane = tasks->planes, /* begin with the next rows */
                              .next = chunk_begin(items, tasks->count, task),
                              .last = chunk_begin(items, tasks->count, task + 1)};
}

/* Goes on to the next row block of a task; returns false after the last one. */
static inline bool blocked_next(const struct blocked_tasks *tasks, struct row_block *block)
{
    if (tasks->divides_rows && ++block->plane < tasks->planes)
        return true;
    if (block->next >= block->last)
        return false;
    const size_t size = tasks->divides_rows ? tasks->height : tasks->planes;
    const size_t first = block->next % size;
    block->image = block->next / size;
    if (!tasks->divides_rows) {
        block->plane = first;
        block->begin = 0;
        block->end = tasks->height;
        block->next++;
        return true;
    }
    block->plane = 0;
    block->begin = first;
    block->end = min_size(tasks->height, first + block->last - block->next);
    block->next += block->end - first;
    return true;
}

/* The epilogue that a kernel applies to a result before it stores it: relu, the addition of a
 * second input, relu, each of them optional. */
struct epilogue {
    bool relu_first, relu_last;
    struct blocked summand; /* no values: nothing is added */
};

static inline struct epilogue epilogue_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct epilogue epilogue = {.relu_first = site->activation_first,
                                .relu_last = site->fused_activation && !site->activation_first};
    if (site->fused_add)
        epilogue.summand = blocked_make(call->inputs[1], site->inputs[1], site->layouts[1]);
    return epilogue;
}

/* Returns 0 where a value is negative; NaN stays, so that a diverged run is noticed. */
static inline vector vector_relu(vector value)
{
    const vector_indices keep = ~(value < 0);
    return (vector)(keep & (vector_indices)value);
}

/* Returns `value` after the epilogue; `summand` is where the summand of this position lies, or
 * NULL. A loop that stores results passes a copy of its own, which stays in registers: the compiler
 * cannot know that the stores do not change any other one.
 */
static inline vector epilogue_apply(const struct epilogue *epilogue, vector value,
                                    const element *summand)
{
    if (epilogue->relu_first)
        value = vector_relu(value);
    if (summand)
        value += element_load(summand);
    return epilogue->relu_last ? vector_relu(value) : value;
}

/* The normalisation of fused batch norms as one multiplication and addition: y = x scale + shift.
 */
struct affine {
    float scale, shift;
};

/* Returns the effect of all fused norms of a call on an output channel whose bias is `bias`. */
struct affine KERNEL(blocked_affine)(const struct kernel_call *call, size_t channel, float bias);

/* Returns the same for a batch norm with these parameters. */
struct affine KERNEL(norm_affine)(const struct node *norm,
                                  const float *const parameters[NORM_PARAMETERS], size_t channel);

/* Copies a channel-blocked array of `batch` images to a plain one. */
void KERNEL(copy_to_plain)(struct pool *pool, struct tensor_layout layout, struct shape shape,
                           size_t batch, const void *from, float *to);

/* Copies a plain array of `batch` images to a channel-blocked one without padding, or adds it. */
void KERNEL(copy_from_plain)(struct pool *pool, struct tensor_layout layout, struct shape shape,
                             size_t batch, const float *from, void *to, bool accumulate);

/* Returns whether the site offers a channel-blocked output, and its first input has that layout. If
 * not, sets *reason. */
bool KERNEL(blocked_supports)(const struct kernel_site *site, const char **reason);

#endif
