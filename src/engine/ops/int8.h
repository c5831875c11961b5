/* int8.h: helpers of all kernels of precision int8: which nodes they compute, where the values of
 * an array of integers lie, and the integers that stand for the weights, biases and scales of a
 * layer.
 *
 * An array of integers (tensor_layout.u8) is plain, [N, C, H, W], on the device reference, and
 * channel-blocked on the device cpu; a vector is then one position of its channels. The lanes
 * behind the last channel have no meaning.
 */
#ifndef TINCA_ENGINE_OPS_INT8_H
#define TINCA_ENGINE_OPS_INT8_H

#include "engine/graph/kernel.h"
#include "engine/graph/quantization.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the fixed-point arithmetic, defined once for all kernels ---
 *
 * A kernel sums products of integers in 32 bits: q of the input, 0..255, times q of the weights,
 * -127..127 (quantization.h). The sum stands for sum * real_unit, and has to become an integer of
 * the output's quantization, which takes a multiplication by a real number. No kernel multiplies in
 * floating point: the number is an integer of 32 bits times a power of two (Jacob et al. 2018,
 * "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"),
 * so that every processor and every order of sums gives the same bits.
 *
 *   real = multiplier * 2^(left - right - 31), multiplier in [2^29, 2^30)
 *
 *   sum' = sum * 2^left, saturated               only where real >= 1/2
 *   q    = zero_point + ((sum' * multiplier + 2^(30 + right)) >> (31 + right)), and then 0..255
 *
 * The product has 64 bits. It is rounded once, halves up: the paper rounds its upper half first and
 * then shifts, which makes results up to a quarter too high where real is close to 1/4. As the
 * multiplier is below 2^30, no step but the first can overflow; what the first one saturates is far
 * beyond 0..255.
 */

/* A real factor as integers. */
struct requantizer {
    int32_t multiplier;
    int32_t left, right; /* 0..30; one of them is 0 */
};

/* Returns the factor nearest to `real`; those below 2^-32 become 0. */
static inline struct requantizer requantizer_make(double real)
{
    int exponent = 0;
    if (!(real > 0x1p-32) || !isfinite(real))
        return (struct requantizer){0};
    int64_t multiplier = llrint(frexp(real, &exponent) * 0x1p30);
    exponent++;
    if (multiplier == (int64_t)1 << 30) {
        multiplier /= 2;
        exponent++;
    }
    const int left = exponent > 0 ? exponent : 0, right = exponent < 0 ? -exponent : 0;
    return (struct requantizer){(int32_t)multiplier, left < 30 ? left : 30,
                                right < 30 ? right : 30};
}

/* Returns sum * real, rounded as above, without zero point and clamping. */
static inline int32_t requantize(int32_t sum, struct requantizer by)
{
    const int32_t most = INT32_MAX >> by.left;
    const int32_t clamped = sum > most ? most : sum < -most ? -most : sum;
    const int64_t product = (int64_t)(clamped * (1 << by.left)) * by.multiplier;
    return (int32_t)((product + ((int64_t)1 << (30 + by.right))) >> (31 + by.right));
}

/* Returns an integer of the output between `least` and 255. */
static inline uint8_t requantize_clamp(int32_t value, int32_t least)
{
    return (uint8_t)(value < least ? least : value > QUANTIZED_MAX ? QUANTIZED_MAX : value);
}

/* --- sums of quantized values --- */

enum { ADD_MAX_INPUTS = 8 };

/* The factors of an addition of quantized values, which all have one power of two:
 *
 *   q = zero_point + ((sum over k of factor[k] * (q[k] - zero_point[k]) + 2^right / 2) >> right)
 */
struct add_factors {
    int32_t factor[ADD_MAX_INPUTS]; /* below 2^15: they fit into 16 bits, and sums of products into
                                       32 */
    int32_t right;                  /* 1..30 */
};

/* Returns the factors for inputs[0..count) and an output. */
static inline struct add_factors add_factors_make(const struct quantization *inputs, size_t count,
                                                  struct quantization output)
{
    struct add_factors factors = {.right = 30};
    double largest = 0;
    int exponent;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, (double)inputs[k].scale / output.scale);
    frexp(largest, &exponent); /* largest < 2^exponent */
    factors.right = 15 - exponent < 1 ? 1 : 15 - exponent > 30 ? 30 : 15 - exponent;
    for (size_t k = 0; k < count; k++) {
        const double real = (double)inputs[k].scale / output.scale;
        factors.factor[k] = (int32_t)fmin(rint(ldexp(real, factors.right)), INT16_MAX);
    }
    return factors;
}

/* Returns the constant that is added to the sum of the products factor[k] * q[k]: it rounds the sum
 * and subtracts the zero points of the inputs. */
static inline int32_t add_offset(const struct add_factors *factors,
                                 const struct quantization *inputs, size_t count)
{
    int32_t offset = (1 << factors->right) >> 1;
    for (size_t k = 0; k < count; k++)
        offset -= factors->factor[k] * inputs[k].zero_point;
    return offset;
}

/* --- nodes and arrays --- */

/* A sum of this many products and the bias fit into 32 bits. */
enum { INT8_MAX_PRODUCTS = 65536 };

/* Returns whether kernels of int8 compute the site, whose quantizations are set, and whether its
 * output may be integers (`integers`; otherwise the caller reads it as float32). If not, sets a
 * reason, marked N_. */
bool int8_computes(const struct kernel_site *site, bool integers, const char **reason);

/* Returns whether the operator only moves or selects values, so that the quantization of its output
 * is that of its input. */
bool int8_keeps_values(const struct op *op);

/* Returns whether a graph rounds values as integers would be (fake_quantize). */
bool int8_is_simulated(const struct graph *graph);

/* Returns the plain-C kernel of int8 of an operator, or NULL if it has none. */
const struct kernel *int8_reference_kernel(const struct op *op);

/* Converts arrays of `batch` images between float32, which is plain, and integers. */
void int8_quantize(struct quantization quantization, struct tensor_layout layout,
                   struct shape shape, size_t batch, const float *from, uint8_t *to);
void int8_dequantize(struct quantization quantization, struct tensor_layout layout,
                     struct shape shape, size_t batch, const uint8_t *from, float *to);

/* --- layers with weights --- */

/* A convolution or linear layer. */
struct int8_layer {
    size_t outputs;                              /* channels */
    size_t products;                             /* of one sum: the weights of one output channel */
    const float *weights, *weight_scales, *bias; /* bias NULL: none */
    struct quantization input;
    bool integers;              /* the output has integers, of the quantization below */
    struct quantization output; /* before anything that is fused */
};

/* Returns the largest magnitude of a bias, in units of the sum, that fits into 32 bits together
 * with `products` products, INT8_MAX_PRODUCTS at most. */
static inline double int8_most_bias(size_t products)
{
    const size_t most = products < INT8_MAX_PRODUCTS ? products : INT8_MAX_PRODUCTS;
    return INT32_MAX - (double)most * QUANTIZED_MAX * QUANTIZED_WEIGHT_MAX;
}

/* The constants by which a kernel turns the sum of an output channel into its output. */
struct int8_output {
    int32_t bias; /* in units of the sum */
    /* The sum of the channel's integer weights times the input's zero point: kernels that multiply
     * q instead of q - zero_point subtract it. */
    int32_t zero_sum;
    struct requantizer requantizer; /* of the sum */
    float scale;                    /* of the sum, for an output of float32 */
};

/* Returns the int8 layer of a kernel call. */
struct int8_layer int8_layer_of(const struct kernel_call *call);

/* Writes the integer weights of one output channel, in the order of the parameter. */
void int8_layer_weights(const struct int8_layer *layer, size_t output, int8_t *weights);

/* Returns the integers of one output channel with these weights. */
struct int8_output int8_layer_output(const struct int8_layer *layer, size_t output,
                                     const int8_t *weights);

/* --- pooling and padding --- */

/* Returns how many elements of the window at (y, x) an average pooling divides by
 * (average_pool.c). */
static inline size_t int8_window_count(const struct window *w, struct shape in, size_t y, size_t x)
{
    const size_t top = y * w->stride_height, left = x * w->stride_width;
    const size_t bottom = top + w->kernel_height, right = left + w->kernel_width;
    const size_t height = in.height + 2 * w->pad_height, width = in.width + 2 * w->pad_width;
    return ((bottom < height ? bottom : height) - top) * ((right < width ? right : width) - left);
}

/* Returns the integers of a mean of `count` values, for their sum over q - zero_point; its scale is
 * for an output of float32. */
static inline struct int8_output int8_mean(const struct kernel_site *site, size_t count)
{
    const double unit = (double)site->quantizations[0].scale / (double)count;
    struct int8_output mean = {.scale = (float)unit};
    if (site->output_layout.u8)
        mean.requantizer = requantizer_make(unit / site->output_quantization.scale);
    return mean;
}

/* --- arrays --- */

/* Returns the index of a value. */
static inline size_t int8_at(struct tensor_layout layout, struct shape shape, size_t image,
                             size_t channel, size_t y, size_t x)
{
    const size_t block = layout.block ? layout.block : 1;
    return image * tensor_image(layout, shape) + channel / block * tensor_plane(layout, shape) +
           y * tensor_row(layout, shape) + x * block + channel % block;
}

/* Returns the same for value `index` of one image in the order of a plain array. */
static inline size_t int8_at_index(struct tensor_layout layout, struct shape shape, size_t image,
                                   size_t index)
{
    const size_t area = shape_area(shape), position = index % area;
    return int8_at(layout, shape, image, index / area, position / shape.width,
                   position % shape.width);
}

#endif
