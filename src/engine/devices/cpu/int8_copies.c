/* Conversions between plain arrays of float32 and channel-blocked arrays of integers (int8.h), as
 * quantization.h defines them. A task converts some rows of an image. */
#include "engine/devices/cpu/int8.h"

enum { POSITIONS = 256 /* of a block of channels that are converted at once */ };

struct copies {
    struct quantization quantization;
    struct tensor_layout layout;
    struct shape shape;
    struct int8_array integers;
    float *floats;
    size_t items, tasks; /* rows of all blocks of all images */
};

static struct copies copies_make(struct pool *pool, struct quantization quantization,
                                 struct tensor_layout layout, struct shape shape, size_t batch,
                                 const uint8_t *integers, const float *floats)
{
    struct copies c = {.quantization = quantization,
                       .layout = layout,
                       .shape = shape,
                       .integers = int8_array_make(integers, shape, layout),
                       .floats = (float *)floats};
    c.items = batch * int8_blocks(shape.channels) * shape.height;
    c.tasks = c.items * shape.width < 4096 ? 1 : min_size(c.items, 4 * pool_threads(pool));
    return c;
}

/* Returns the first value of a row of a block, and how many channels the block has. */
static uint8_t *row_of(const struct copies *c, size_t item, float **floats, size_t *channels)
{
    const size_t blocks = int8_blocks(c->shape.channels);
    const size_t y = item % c->shape.height, block = item / c->shape.height % blocks;
    const size_t image = item / c->shape.height / blocks, first = block * INT8_BLOCK;
    *channels = min_size(INT8_BLOCK, c->shape.channels - first);
    *floats =
        c->floats + ((image * c->shape.channels + first) * c->shape.height + y) * c->shape.width;
    return c->integers.values + image * c->integers.image + block * c->integers.plane +
           y * c->shape.width * INT8_BLOCK;
}

/* Writes quantization_round of `count` values; NaN becomes the zero point. */
static void round_values(struct quantization quantization, const float *from, uint8_t *to,
                         size_t count)
{
    const float factor_ = 1 / quantization.scale, zero_point = (float)quantization.zero_point;
    /* adding 1.5 * 2^23 rounds halves to even and leaves the integer in the low bits */
    const float rounder = 0x1.8p23f;
    for (size_t i = 0; i < count; i++) {
        float position = from[i] * factor_;
        position = position > -512 ? position : -512;
        position = position < 512 ? position : 512;
        position = from[i] != from[i] ? 0 : position;
        float rounded = position + rounder;
        rounded = (rounded - rounder) + zero_point;
        rounded = rounded > 0 ? rounded : 0;
        to[i] = (uint8_t)(int32_t)(rounded < QUANTIZED_MAX ? rounded : QUANTIZED_MAX);
    }
}

static void quantize_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct copies *c = context;
    const size_t last = chunk_begin(c->items, c->tasks, task + 1);
    const size_t area = shape_area(c->shape);
    for (size_t item = chunk_begin(c->items, c->tasks, task); item < last; item++) {
        uint8_t rounded[POSITIONS];
        float *from;
        size_t channels;
        uint8_t *to = row_of(c, item, &from, &channels);
        memset(to, c->quantization.zero_point, c->shape.width * INT8_BLOCK);
        for (size_t i = 0; i < channels; i++)
            for (size_t x = 0; x < c->shape.width; x += POSITIONS) {
                const size_t count = min_size(POSITIONS, c->shape.width - x);
                round_values(c->quantization, from + i * area + x, rounded, count);
                for (size_t k = 0; k < count; k++)
                    to[(x + k) * INT8_BLOCK + i] = rounded[k];
            }
    }
}

static void dequantize_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct copies *c = context;
    const size_t last = chunk_begin(c->items, c->tasks, task + 1);
    const size_t area = shape_area(c->shape);
    for (size_t item = chunk_begin(c->items, c->tasks, task); item < last; item++) {
        float *to;
        size_t channels;
        const uint8_t *from = row_of(c, item, &to, &channels);
        for (size_t i = 0; i < channels; i++)
            for (size_t x = 0; x < c->shape.width; x++)
                to[i * area + x] = quantization_value(c->quantization, from[x * INT8_BLOCK + i]);
    }
}

void KERNEL(quantize)(struct pool *pool, struct quantization quantization,
                      struct tensor_layout layout, struct shape shape, size_t batch,
                      const float *from, uint8_t *to)
{
    struct copies c = copies_make(pool, quantization, layout, shape, batch, to, from);
    pool_run(pool, c.tasks, quantize_task, &c);
}

void KERNEL(dequantize)(struct pool *pool, struct quantization quantization,
                        struct tensor_layout layout, struct shape shape, size_t batch,
                        const uint8_t *from, float *to)
{
    struct copies c = copies_make(pool, quantization, layout, shape, batch, from, to);
    pool_run(pool, c.tasks, dequantize_task, &c);
}
