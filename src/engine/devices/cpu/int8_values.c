/* Operators on arrays of integers (int8.h) that have no weights: those that select or move values,
 * sums, and pooling. All work on a block of channels of one position at a time. A task computes
 * some rows of some blocks of the output. */
#include "engine/devices/cpu/int8.h"

#include "engine/devices/cpu/int8_gather.h"
#include "engine/graph/machine_model.h"

struct values {
    const struct kernel_call *call;
    struct shape in, out_shape;
    struct int8_array inputs[NODE_MAX_INPUTS], out;
    uint8_t zero_point;  /* of input 0 */
    size_t items, tasks; /* rows of all blocks of all images */
};

/* Computes row `y` of block `block` of an image, and stores its integers at `to`. */
typedef void row_function(const struct values *v, size_t image, size_t block, size_t y,
                          uint8_t *to);

static const uint8_t *input_row(const struct values *v, size_t k, size_t image, size_t block,
                                size_t y)
{
    return v->inputs[k].values + image * v->inputs[k].image + block * v->inputs[k].plane +
           y * v->in.width * INT8_BLOCK;
}

static inline __attribute__((always_inline)) void run_rows(const struct values *v, size_t task,
                                                           row_function *function)
{
    const size_t blocks = int8_blocks(v->out_shape.channels), height = v->out_shape.height;
    const size_t last = chunk_begin(v->items, v->tasks, task + 1);
    for (size_t item = chunk_begin(v->items, v->tasks, task); item < last; item++) {
        const size_t y = item % height, block = item / height % blocks;
        const size_t image = item / height / blocks;
        function(v, image, block, y,
                 v->out.values + image * v->out.image + block * v->out.plane +
                     y * v->out_shape.width * INT8_BLOCK);
    }
}

/* Runs tasks whose rows take `work` operations on a vector for each position. */
static void run(const struct kernel_call *call, pool_task *task, size_t work)
{
    const struct kernel_site *site = call->site;
    struct values v = {.call = call,
                       .in = site->inputs[0],
                       .out_shape = site->node->output,
                       .out = int8_output_array(call),
                       .zero_point = (uint8_t)site->quantizations[0].zero_point};
    for (size_t k = 0; k < site->node->input_count; k++)
        v.inputs[k] = int8_input(call, k);
    v.items = site->batch * v.out_shape.height * int8_blocks(v.out_shape.channels);
    const size_t wanted =
        machine_tasks(site->machine, MACHINE_OPERATION, v.items * v.out_shape.width * work,
                      pool_threads(call->pool));
    v.tasks = min_size(v.items, wanted);
    run_tasks(call, v.tasks, task, &v);
}

#define ROW_TASK(NAME)                                                                             \
    static void NAME##_task(void *context, size_t task, size_t thread)                             \
    {                                                                                              \
        (void)thread;                                                                              \
        run_rows(context, task, NAME##_row);                                                       \
    }

/* --- elementwise --- */

static void relu_row(const struct values *v, size_t image, size_t block, size_t y, uint8_t *to)
{
    const uint8_t *from = input_row(v, 0, image, block, y);
    const bytes least = bytes_splat(v->zero_point);
    for (size_t i = 0; i < v->in.width * INT8_BLOCK; i += INT8_BLOCK)
        bytes_store(to + i, bytes_max(bytes_load(from + i), least));
}

ROW_TASK(relu)

static void forward_relu(const struct kernel_call *call)
{
    run(call, relu_task, 1);
}

static void add_two_rows(const struct values *v, const uint8_t *a, const uint8_t *b, uint8_t *to)
{
    const struct kernel_site *site = v->call->site;
    const struct int8_epilogue epilogue = int8_epilogue_of(site);
    const struct int8_add add = int8_add_make(site->quantizations, site->output_quantization);
    for (size_t i = 0; i < v->in.width * INT8_BLOCK; i += INT8_BLOCK) {
        const bytes sum = bytes_add(&add, bytes_load(a + i), bytes_load(b + i));
        bytes_store(to + i, epilogue.relu_last ? bytes_max(sum, epilogue.least_last) : sum);
    }
}

/* Adds three or more summands. */
static void add_many_rows(const struct values *v, size_t image, size_t block, size_t y, uint8_t *to)
{
    const struct kernel_site *site = v->call->site;
    const size_t count = site->node->input_count;
    const struct quantization output = site->output_quantization;
    const struct add_factors factors = add_factors_make(site->quantizations, count, output);
    const int32_t offset = add_offset(&factors, site->quantizations, count);
    const int32_t least = site->fused_activation ? output.zero_point : 0;
    const uint8_t *from[NODE_MAX_INPUTS];
    for (size_t k = 0; k < count; k++)
        from[k] = input_row(v, k, image, block, y);
    for (size_t i = 0; i < v->in.width * INT8_BLOCK; i++) {
        int32_t sum = offset;
        for (size_t k = 0; k < count; k++)
            sum += factors.factor[k] * from[k][i];
        to[i] = requantize_clamp((sum >> factors.right) + output.zero_point, least);
    }
}

static void add_row(const struct values *v, size_t image, size_t block, size_t y, uint8_t *to)
{
    if (v->call->site->node->input_count == 2)
        add_two_rows(v, input_row(v, 0, image, block, y), input_row(v, 1, image, block, y), to);
    else
        add_many_rows(v, image, block, y, to);
}

ROW_TASK(add)

static void forward_add(const struct kernel_call *call)
{
    run(call, add_task, 4);
}

/* --- moves --- */

/* Sets where the channels of a block of the output come from (int8_gather.h). */
typedef void gather_function(const struct values *v, size_t image, size_t block,
                             struct int8_gather *gather);

static inline __attribute__((always_inline)) void run_gathers(const struct values *v, size_t task,
                                                              gather_function *function)
{
    const size_t blocks = int8_blocks(v->out_shape.channels), height = v->out_shape.height;
    const size_t last = chunk_begin(v->items, v->tasks, task + 1);
    struct int8_gather gather;
    size_t gathered = SIZE_MAX;
    for (size_t item = chunk_begin(v->items, v->tasks, task); item < last; item++) {
        const size_t y = item % height, block = item / height % blocks;
        const size_t image = item / height / blocks;
        if (item / height != gathered) {
            gather.count = 0;
            function(v, image, block, &gather);
            gathered = item / height;
        }
        int8_gather_write(&gather, v->in, y, v->zero_point,
                          v->out.values + image * v->out.image + block * v->out.plane +
                              y * v->out_shape.width * INT8_BLOCK);
    }
}

#define GATHER_TASK(NAME)                                                                          \
    static void NAME##_task(void *context, size_t task, size_t thread)                             \
    {                                                                                              \
        (void)thread;                                                                              \
        run_gathers(context, task, NAME##_block);                                                  \
    }

/* Adds lane `to` of a block: a channel of input k, from the place that (dy, dx) says. */
static void add_channel(const struct values *v, size_t k, size_t image, size_t channel,
                        ptrdiff_t dy, ptrdiff_t dx, size_t to, struct int8_gather *gather)
{
    int8_gather_add(gather, to, input_row(v, k, image, channel / INT8_BLOCK, 0), dy, dx,
                    channel % INT8_BLOCK);
}

static void concat_block(const struct values *v, size_t image, size_t block,
                         struct int8_gather *gather)
{
    const struct kernel_site *site = v->call->site;
    size_t k = 0, first = 0; /* the first channel of input k */
    const size_t begin = block * INT8_BLOCK;
    const size_t end = min_size(begin + INT8_BLOCK, v->out_shape.channels);
    for (size_t c = begin; c < end; c++) {
        while (c >= first + site->inputs[k].channels)
            first += site->inputs[k++].channels;
        add_channel(v, k, image, c - first, 0, 0, c - begin, gather);
    }
}

GATHER_TASK(concat)

static void forward_concat(const struct kernel_call *call)
{
    run(call, concat_task, 1);
}

/* Sets the channels of a block of channel_shift (ops/channel_shift.c); zeros enter at the edge. */
static void channel_shift_block(const struct values *v, size_t image, size_t block,
                                struct int8_gather *gather)
{
    const size_t group = v->in.channels / 9, first = block * INT8_BLOCK;
    for (size_t c = first; c < min_size(first + INT8_BLOCK, v->in.channels); c++) {
        const bool moves = c < 9 * group;
        add_channel(v, 0, image, c, moves ? 1 - (ptrdiff_t)(c / group / 3) : 0,
                    moves ? 1 - (ptrdiff_t)(c / group % 3) : 0, c - first, gather);
    }
}

GATHER_TASK(channel_shift)

static void forward_channel_shift(const struct kernel_call *call)
{
    run(call, channel_shift_task, 8);
}

static void channel_shuffle_block(const struct values *v, size_t image, size_t block,
                                  struct int8_gather *gather)
{
    const size_t groups = v->call->site->node->attributes.shuffle.groups;
    const size_t group_channels = v->in.channels / groups, first = block * INT8_BLOCK;
    for (size_t c = first; c < min_size(first + INT8_BLOCK, v->in.channels); c++)
        add_channel(v, 0, image, c % groups * group_channels + c / groups, 0, 0, c - first, gather);
}

GATHER_TASK(channel_shuffle)

static void forward_channel_shuffle(const struct kernel_call *call)
{
    run(call, channel_shuffle_task, 4);
}

static void flatten_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct kernel_site *site = call->site;
    const struct tensor_layout layout = site->layouts[0];
    const struct shape in = site->inputs[0];
    const uint8_t *from = (const uint8_t *)call->inputs[0];
    for (size_t i = 0; i < site->node->output.channels; i++) {
        const uint8_t value = from[int8_at_index(layout, in, task, i)];
        if (site->output_layout.u8)
            ((uint8_t *)
                 call->output)[task * tensor_image(site->output_layout, site->node->output) + i] =
                value;
        else
            call->output[task * site->node->output.channels + i] =
                quantization_value(site->quantizations[0], value);
    }
}

static void forward_flatten(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch, flatten_task, call);
}

/* --- pooling --- */

/* The elements of a window that lie in the image, on one axis. */
struct taps {
    size_t begin, end;
};

static struct taps taps_of(size_t at, size_t kernel, size_t stride, size_t pad, size_t size)
{
    const size_t first = at * stride, last = first + kernel; /* counted from the padding on */
    const size_t begin = first > pad ? first - pad : 0;
    const size_t end = last > pad ? min_size(last - pad, size) : 0;
    return (struct taps){min_size(begin, end), end};
}

static void max_row(const struct values *v, size_t image, size_t block, size_t y, uint8_t *to)
{
    const struct window *w = &v->call->site->node->attributes.pool.window;
    const struct taps rows =
        taps_of(y, w->kernel_height, w->stride_height, w->pad_height, v->in.height);
    for (size_t x = 0; x < v->out_shape.width; x++) {
        const struct taps columns =
            taps_of(x, w->kernel_width, w->stride_width, w->pad_width, v->in.width);
        bytes most = {0};
        for (size_t iy = rows.begin; iy < rows.end; iy++) {
            const uint8_t *from = input_row(v, 0, image, block, iy);
            for (size_t ix = columns.begin; ix < columns.end; ix++)
                most = bytes_max(most, bytes_load(from + ix * INT8_BLOCK));
        }
        bytes_store(to + x * INT8_BLOCK, most);
    }
}

ROW_TASK(max)

static void forward_max_pool(const struct kernel_call *call)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    run(call, max_task, w->kernel_height * w->kernel_width);
}

/* Sums q over a window, and returns how many elements of it lie in the image. */
static size_t sum_window(const struct values *v, size_t image, size_t block, size_t y, size_t x,
                         int32_t *sum)
{
    const struct window *w = &v->call->site->node->attributes.pool.window;
    const struct taps rows =
        taps_of(y, w->kernel_height, w->stride_height, w->pad_height, v->in.height);
    const struct taps columns =
        taps_of(x, w->kernel_width, w->stride_width, w->pad_width, v->in.width);
    memset(sum, 0, INT8_BLOCK * sizeof *sum);
    for (size_t iy = rows.begin; iy < rows.end; iy++) {
        const uint8_t *from = input_row(v, 0, image, block, iy);
        for (size_t ix = columns.begin; ix < columns.end; ix++)
#pragma omp simd
            for (size_t i = 0; i < INT8_BLOCK; i++)
                sum[i] += from[ix * INT8_BLOCK + i];
    }
    return (rows.end - rows.begin) * (columns.end - columns.begin);
}

static void average_row(const struct values *v, size_t image, size_t block, size_t y, uint8_t *to)
{
    const struct kernel_site *site = v->call->site;
    const struct shape out = v->out_shape;
    const size_t first = block * INT8_BLOCK;
    for (size_t x = 0; x < out.width; x++) {
        int32_t sum[INT8_BLOCK];
        const int32_t elements = (int32_t)sum_window(v, image, block, y, x, sum);
        const struct int8_output mean =
            int8_mean(site, int8_window_count(&site->node->attributes.pool.window, v->in, y, x));
        for (size_t i = 0; i < INT8_BLOCK; i++) {
            const int32_t value = sum[i] - elements * v->zero_point;
            if (site->output_layout.u8)
                to[x * INT8_BLOCK + i] = requantize_clamp(
                    requantize(value, mean.requantizer) + site->output_quantization.zero_point, 0);
            else if (first + i < out.channels)
                v->call->output[((image * out.channels + first + i) * out.height + y) * out.width +
                                x] = (float)value * mean.scale;
        }
    }
}

ROW_TASK(average)

static void forward_average_pool(const struct kernel_call *call)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    run(call, average_task, 4 * w->kernel_height * w->kernel_width);
}

/* --- the kernels --- */

#define INT8_KERNEL(NAME, TRAITS)                                                                  \
    extern const struct kernel KERNEL(NAME##_int8);                                                \
    const struct kernel KERNEL(NAME##_int8) = {                                                    \
        .name = #NAME " int8",                                                                     \
        .instruction_set = ISA_NAME,                                                               \
        .op = &op_##NAME,                                                                          \
        .traits = KERNEL_INT8 | KERNEL_BLOCKED | (TRAITS),                                         \
        .supports = supports_int8,                                                                 \
        .forward = forward_##NAME,                                                                 \
    };

INT8_KERNEL(relu, KERNEL_IN_PLACE)
INT8_KERNEL(add, KERNEL_IN_PLACE | KERNEL_FUSES_ACTIVATION)
INT8_KERNEL(concat, 0)
INT8_KERNEL(channel_shift, 0)
INT8_KERNEL(channel_shuffle, 0)
INT8_KERNEL(flatten, 0)
INT8_KERNEL(max_pool, 0)
INT8_KERNEL(average_pool, 0)
