#include "op_cases.h"

/* The macros' arguments follow the order of the attributes. WINDOW: kernel, stride, padding, each
 * with height and width; SQUARE: the same for both. */
#define WINDOW(kh, kw, sh, sw, ph, pw)                                                             \
    {                                                                                              \
        kh, kw, sh, sw, ph, pw                                                                     \
    }
#define SQUARE(kernel, stride, pad) WINDOW(kernel, kernel, stride, stride, pad, pad)
#define CONV(window_, outputs_, groups_, bias_)                                                    \
    .op = &op_conv,                                                                                \
    .attributes.conv = {.window = window_, .outputs = outputs_, .groups = groups_, .bias = bias_}
#define DILATED(window_, outputs_, groups_, height_, width_)                                       \
    .op = &op_conv, .attributes.conv = {.window = window_,                                         \
                                        .outputs = outputs_,                                       \
                                        .groups = groups_,                                         \
                                        .bias = true,                                              \
                                        .dilation_height = height_,                                \
                                        .dilation_width = width_}
#define TRANSPOSE(window_, outputs_, groups_, bias_)                                               \
    .op = &op_conv_transpose,                                                                      \
    .attributes.conv = {.window = window_, .outputs = outputs_, .groups = groups_, .bias = bias_}
#define LINEAR(outputs_, bias_)                                                                    \
    .op = &op_linear, .attributes.linear = {.outputs = outputs_, .bias = bias_}
#define POOL(op_, window_, ceil_)                                                                  \
    .op = &op_, .attributes.pool = {.window = window_, .ceil_mode = ceil_}
#define GLOBAL_POOL(op_)      .op = &op_, .attributes.pool = {.global = true}
#define LEAKY(slope_)         .op = &op_leaky_relu, .attributes.leaky_relu = {slope_}
#define PRELU                 .op = &op_prelu, .attributes.prelu = {0.25f}
#define ELU(alpha_)           .op = &op_elu, .attributes.elu = {alpha_}
#define NORM(epsilon, moment) .op = &op_batch_norm, .attributes.batch_norm = {epsilon, moment}
#define INSTANCE(epsilon)     .op = &op_batch_norm, .attributes.batch_norm = {epsilon, 0.1f, true}
#define LRN(size, a, b, k)    .op = &op_lrn, .attributes.lrn = {size, a, b, k}
#define DROPOUT(rate)         .op = &op_dropout, .attributes.dropout = {rate}
#define DROPOUT_CHANNELS(rate_)                                                                    \
    .op = &op_dropout, .attributes.dropout = {.rate = rate_, .channels = true}
#define SHUFFLE(groups)    .op = &op_channel_shuffle, .attributes.shuffle = {groups}
#define LOSS(op_, weight_) .op = &op_, .attributes.loss = {.weight = weight_}
#define BCE_TO(target_)                                                                            \
    .op = &op_binary_cross_entropy,                                                                \
    .attributes.loss = {.weight = 1, .has_target = true, .target = target_}
#define SMOOTHED(smoothing_)                                                                       \
    .op = &op_softmax_cross_entropy, .attributes.loss = {.weight = 1, .smoothing = smoothing_}

#define ONE(c, h, w)    .inputs = {{c, h, w}}, .input_count = 1
#define SCALED(c, h, w) .op = &op_channel_scale, .inputs = {{c, h, w}, {c, 1, 1}}, .input_count = 2
#define PAIR(c, h, w)   .inputs = {{c, h, w}, {c, h, w}}, .input_count = 2

/* --- sizes --- */

/* Sizes around the widths of vectors (4, 8, 16 values) and tiles (4, 6 or 8 rows, 3 vectors),
 * around the blocks of sums (64 terms), and primes. */
/* clang-format off */
#define EDGE_SIZES(CASE)                                                                           \
    CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(11) CASE(12) CASE(13)     \
    CASE(15) CASE(16) CASE(17) CASE(19) CASE(23) CASE(24) CASE(25) CASE(31) CASE(32) CASE(33)      \
    CASE(37) CASE(47) CASE(48) CASE(49) CASE(53) CASE(63) CASE(64) CASE(65) CASE(67)
/* clang-format on */

#define EDGE(name_, n, batch_, ...)                                                                \
    {.name = name_ #n, __VA_ARGS__, .batch = batch_, .flags = CASE_EDGE},
#define EDGE_INFERENCE(name_, n, batch_, ...)                                                      \
    {.name = name_ #n, __VA_ARGS__, .batch = batch_, .flags = CASE_EDGE | CASE_INFERENCE},
#define EDGE_CONV_OUTPUTS(n)                                                                       \
    EDGE("conv outputs and width ", n, 2, CONV(SQUARE(3, 1, 1), n, 1, true), ONE(5, 2, n))
#define EDGE_CONV_INPUTS(n)                                                                        \
    EDGE("conv inputs and positions ", n, 1, CONV(SQUARE(1, 1, 0), 6, 1, true), ONE(n, 1, n))
#define EDGE_CONV_IMAGES(n)                                                                        \
    EDGE("conv images ", n, n, CONV(SQUARE(3, 2, 1), 5, 1, true), ONE(3, 4, 5))
#define EDGE_DEPTHWISE(n)                                                                          \
    EDGE("conv depthwise ", n, 2, CONV(SQUARE(3, 1, 1), n, n, true), ONE(n, 3, n))
#define EDGE_DILATED(n)                                                                            \
    EDGE("conv dilated, outputs and width ", n, 2, DILATED(SQUARE(3, 1, 2), n, 1, 2, 2),           \
         ONE(5, 2, n))
#define EDGE_DILATED_INPUTS(n)                                                                     \
    EDGE("conv dilated, inputs ", n, 1, DILATED(SQUARE(3, 1, 3), 17, 1, 3, 3), ONE(n, 3, 5))
#define EDGE_DILATED_DEPTHWISE(n)                                                                  \
    EDGE("conv dilated depthwise ", n, 2, DILATED(SQUARE(3, 1, 2), n, n, 2, 2), ONE(n, 3, n))
#define EDGE_TRANSPOSE_OUTPUTS(n)                                                                  \
    EDGE("conv_transpose outputs and width ", n, 2, TRANSPOSE(SQUARE(4, 2, 1), n, 1, true),        \
         ONE(4, 2, n))
#define EDGE_TRANSPOSE_INPUTS(n)                                                                   \
    EDGE("conv_transpose inputs ", n, 1, TRANSPOSE(SQUARE(3, 1, 1), 6, 1, true), ONE(n, 2, 3))
#define EDGE_LINEAR(n)        EDGE("linear inputs and outputs ", n, 3, LINEAR(n, true), ONE(n, 1, 1))
#define EDGE_LINEAR_IMAGES(n) EDGE("linear images ", n, n, LINEAR(7, true), ONE(n, 1, 1))
#define EDGE_MAX(n)                                                                                \
    EDGE("max_pool width ", n, 2, POOL(op_max_pool, SQUARE(3, 2, 1), false), ONE(3, 5, n))
#define EDGE_MAX_OVERLAPPING(n)                                                                    \
    EDGE("max_pool overlapping, width ", n, 2, POOL(op_max_pool, SQUARE(3, 1, 1), false),          \
         ONE(3, 4, n))
#define EDGE_MAX_GLOBAL(n) EDGE("max_pool global ", n, 1, GLOBAL_POOL(op_max_pool), ONE(n, 1, n))
#define EDGE_MAX_CHANNELS(n)                                                                       \
    EDGE("max_pool channels ", n, 2, POOL(op_max_pool, SQUARE(3, 2, 0), true), ONE(n, 6, 5))       \
    EDGE("max_pool overlapping, channels ", n, 1, POOL(op_max_pool, SQUARE(3, 1, 1), false),       \
         ONE(n, 3, 4))                                                                             \
    EDGE("max_pool 2x2, channels ", n, 2, POOL(op_max_pool, SQUARE(2, 2, 0), false), ONE(n, 5, 4))
#define EDGE_AVERAGE(n)                                                                            \
    EDGE("average_pool width ", n, 2, POOL(op_average_pool, SQUARE(3, 2, 1), false), ONE(3, 5, n))
#define EDGE_AVERAGE_OVERLAPPING(n)                                                                \
    EDGE("average_pool overlapping, width ", n, 2, POOL(op_average_pool, SQUARE(3, 1, 1), false),  \
         ONE(3, 4, n))
#define EDGE_AVERAGE_GLOBAL(n)                                                                     \
    EDGE("average_pool global ", n, 1, GLOBAL_POOL(op_average_pool), ONE(n, 1, n))
#define EDGE_AVERAGE_CHANNELS(n)                                                                   \
    EDGE("average_pool channels ", n, 2, POOL(op_average_pool, SQUARE(3, 2, 1), true),             \
         ONE(n, 5, 6))                                                                             \
    EDGE("average_pool global, channels ", n, 2, GLOBAL_POOL(op_average_pool), ONE(n, 5, 7))
#define EDGE_RELU(n)           EDGE("relu values ", n, 1, .op = &op_relu, ONE(1, 1, n))
#define EDGE_LEAKY(n)          EDGE("leaky_relu values ", n, 1, LEAKY(0.2f), ONE(1, 1, n))
#define EDGE_PRELU_CHANNELS(n) EDGE("prelu channels ", n, 3, PRELU, ONE(n, 2, 3))
#define EDGE_PRELU_AREA(n)     EDGE("prelu area ", n, 2, PRELU, ONE(3, 1, n))
#define EDGE_ELU(n)            EDGE("elu values ", n, 1, ELU(0.7f), ONE(1, 1, n))
#define EDGE_GELU(n)           EDGE("gelu values ", n, 1, .op = &op_gelu, ONE(1, 1, n))
#define EDGE_SILU(n)           EDGE("silu values ", n, 1, .op = &op_silu, ONE(1, 1, n))
#define EDGE_HARDSWISH(n)      EDGE("hardswish values ", n, 1, .op = &op_hardswish, ONE(1, 1, n))
#define EDGE_HARDSIGMOID(n)    EDGE("hardsigmoid values ", n, 1, .op = &op_hardsigmoid, ONE(1, 1, n))
#define EDGE_SIGMOID(n)        EDGE("sigmoid values ", n, 1, .op = &op_sigmoid, ONE(1, 1, n))
#define EDGE_TANH(n)           EDGE("tanh values ", n, 1, .op = &op_tanh, ONE(1, 1, n))
#define EDGE_SOFTMAX(n)        EDGE("softmax classes ", n, 3, .op = &op_softmax, ONE(n, 1, 1))
#define EDGE_SOFTMAX_AREA(n)   EDGE("softmax area ", n, 2, .op = &op_softmax, ONE(3, 1, n))
#define EDGE_NORM_AREA(n)      EDGE("batch_norm area ", n, 3, NORM(1e-5f, 0.1f), ONE(2, 1, n))
#define EDGE_NORM_CHANNELS(n)  EDGE("batch_norm channels ", n, 5, NORM(1e-5f, 0.1f), ONE(n, 1, 1))
#define EDGE_LRN_CHANNELS(n)   EDGE("lrn channels ", n, 2, LRN(5, 1, 0.75f, 1), ONE(n, 1, 3))
#define EDGE_LRN_AREA(n)       EDGE("lrn area ", n, 2, LRN(5, 1, 0.75f, 1), ONE(6, 1, n))
#define EDGE_DROPOUT(n)        EDGE("dropout values ", n, 3, DROPOUT(0.3f), ONE(1, 1, n))
#define EDGE_DROPOUT_CHANNELS(n)                                                                   \
    EDGE("dropout channels ", n, 3, DROPOUT_CHANNELS(0.3f), ONE(n, 2, 3))
#define EDGE_SCALE_CHANNELS(n) EDGE("channel_scale channels ", n, 3, SCALED(n, 2, 3))
#define EDGE_SCALE_AREA(n)     EDGE("channel_scale area ", n, 2, SCALED(3, 1, n))
#define EDGE_CONCAT(n)                                                                             \
    EDGE("concat area ", n, 2, .op = &op_concat, .inputs = {{2, 1, n}, {3, 1, n}}, .input_count = 2)
#define EDGE_ADD(n)            EDGE("add values ", n, 1, .op = &op_add, PAIR(1, 1, n))
#define EDGE_SHUFFLE_AREA(n)   EDGE("channel_shuffle area ", n, 2, SHUFFLE(2), ONE(6, 1, n))
#define EDGE_SHUFFLE_GROUPS(n) EDGE("channel_shuffle groups ", n, 2, SHUFFLE(n), ONE(2 * n, 1, 3))
#define EDGE_SHIFT_WIDTH(n)                                                                        \
    EDGE("channel_shift width ", n, 2, .op = &op_channel_shift, ONE(9, 2, n))
#define EDGE_SHIFT_CHANNELS(n)                                                                     \
    EDGE("channel_shift channels, plus 8, ", n, 1, .op = &op_channel_shift, ONE(8 + n, 2, 3))
#define EDGE_CROSS_ENTROPY(n)                                                                      \
    EDGE("softmax_cross_entropy smoothed ", n, 3, SMOOTHED(0.1f), ONE(n, 1, 1))                    \
    EDGE("softmax_cross_entropy classes ", n, 3, LOSS(op_softmax_cross_entropy, 1), ONE(n, 1, 1))
#define EDGE_PERCEPTRON(n) EDGE("perceptron classes ", n, 3, LOSS(op_perceptron, 1), ONE(n, 1, 1))
#define EDGE_BCE(n)        EDGE("binary_cross_entropy values ", n, 2, BCE_TO(0.9f), ONE(1, 1, n))
#define EDGE_L1(n)         EDGE("l1_loss values ", n, 2, LOSS(op_l1_loss, 1), PAIR(1, 1, n))
#define EDGE_L2(n)         EDGE("l2_loss values ", n, 2, LOSS(op_l2_loss, 1), PAIR(1, 1, n))
#define EDGE_NORM_INFERENCE(n)                                                                     \
    EDGE_INFERENCE("batch_norm in inference, area ", n, 2, NORM(1e-5f, 0.1f), ONE(3, 1, n))

const struct op_case op_cases[] = {
    /* --- convolution --- */
    {.name = "conv_1x1_image", CONV(SQUARE(1, 1, 0), 1, 1, true), ONE(1, 1, 1), .batch = 1},
    {.name = "conv_1x1", CONV(SQUARE(1, 1, 0), 31, 1, true), ONE(17, 3, 5), .batch = 3},
    {.name = "conv_1x1_stride2", CONV(SQUARE(1, 2, 0), 33, 1, false), ONE(16, 7, 5), .batch = 2},
    {.name = "conv_1x1_groups2", CONV(SQUARE(1, 1, 0), 18, 2, true), ONE(8, 4, 4), .batch = 3},
    {.name = "conv_3x3_pad", CONV(SQUARE(3, 1, 1), 8, 1, true), ONE(3, 9, 9), .batch = 2},
    {.name = "conv_3x3_no_pad", CONV(SQUARE(3, 1, 0), 9, 1, true), ONE(7, 5, 8), .batch = 1},
    {.name = "conv_3x3_stride2", CONV(SQUARE(3, 2, 1), 16, 1, true), ONE(8, 9, 11), .batch = 3},
    {.name = "conv_3x3_on_1x1", CONV(SQUARE(3, 1, 1), 6, 1, true), ONE(5, 1, 1), .batch = 5},
    {.name = "conv_3x3_channels_31_to_33",
     CONV(SQUARE(3, 1, 1), 33, 1, false),
     ONE(31, 2, 3),
     .batch = 1},
    {.name = "conv_3x3_groups3", CONV(SQUARE(3, 1, 1), 15, 3, true), ONE(9, 6, 6), .batch = 3},
    {.name = "conv_4x4_stride2", CONV(SQUARE(4, 2, 1), 6, 1, true), ONE(3, 8, 8), .batch = 2},
    {.name = "conv_5x5", CONV(SQUARE(5, 1, 0), 5, 1, true), ONE(1, 9, 8), .batch = 2},
    {.name = "conv_5x5_pad_groups2", CONV(SQUARE(5, 1, 2), 6, 2, true), ONE(4, 7, 7), .batch = 2},
    {.name = "conv_5x5_exceeds_image", CONV(SQUARE(5, 1, 2), 3, 1, true), ONE(2, 2, 3), .batch = 3},
    {.name = "conv_7x7_stride2", CONV(SQUARE(7, 2, 3), 4, 1, true), ONE(3, 13, 11), .batch = 1},
    {.name = "conv_11x11_stride4", CONV(SQUARE(11, 4, 0), 5, 1, true), ONE(3, 23, 23), .batch = 1},
    {.name = "conv_stride_exceeds_kernel",
     CONV(SQUARE(2, 3, 0), 4, 1, true),
     ONE(4, 11, 10),
     .batch = 2},
    {.name = "conv_window_is_image",
     CONV(WINDOW(5, 6, 1, 1, 0, 0), 3, 1, true),
     ONE(4, 5, 6),
     .batch = 3},
    {.name = "conv_dilation_2", DILATED(SQUARE(3, 1, 2), 6, 1, 2, 2), ONE(7, 9, 8), .batch = 2},
    {.name = "conv_dilation_uneven",
     DILATED(WINDOW(3, 2, 1, 1, 2, 0), 5, 1, 2, 3),
     ONE(5, 8, 9),
     .batch = 3},
    {.name = "conv_dilation_stride2",
     DILATED(SQUARE(3, 2, 2), 10, 2, 2, 2),
     ONE(4, 11, 10),
     .batch = 2},
    {.name = "conv_dilation_one_axis",
     DILATED(WINDOW(3, 3, 1, 2, 2, 1), 33, 1, 2, 1),
     ONE(18, 7, 9),
     .batch = 2},
    {.name = "conv_dilation_depthwise",
     DILATED(SQUARE(3, 1, 2), 17, 17, 2, 2),
     ONE(17, 7, 9),
     .batch = 3},
    {.name = "conv_dilation_depthwise_stride2",
     DILATED(SQUARE(3, 2, 3), 20, 20, 3, 3),
     ONE(20, 9, 8),
     .batch = 2},
    {.name = "conv_dilation_multiplier",
     DILATED(SQUARE(2, 1, 0), 12, 4, 3, 2),
     ONE(4, 6, 7),
     .batch = 2},
    {.name = "conv_dilation_exceeds_image",
     DILATED(SQUARE(3, 1, 3), 4, 1, 3, 3),
     ONE(3, 2, 3),
     .batch = 2},
    {.name = "conv_dilation_5x5",
     DILATED(SQUARE(5, 1, 4), 16, 1, 2, 2),
     ONE(5, 11, 13),
     .batch = 2},
    {.name = "conv_dilation_inference",
     DILATED(SQUARE(3, 1, 2), 33, 1, 2, 2),
     ONE(20, 9, 11),
     .batch = 1,
     .flags = CASE_INFERENCE},
    {.name = "conv_uneven_window",
     CONV(WINDOW(1, 3, 2, 1, 0, 1), 7, 1, true),
     ONE(5, 8, 9),
     .batch = 2},
    {.name = "conv_depthwise", CONV(SQUARE(3, 1, 1), 17, 17, false), ONE(17, 7, 7), .batch = 2},
    {.name = "conv_depthwise_stride2", CONV(SQUARE(3, 2, 1), 8, 8, true), ONE(8, 9, 9), .batch = 3},
    {.name = "conv_depthwise_twice", CONV(SQUARE(3, 1, 1), 10, 5, true), ONE(5, 6, 5), .batch = 1},
    {.name = "conv_depthwise_4x4", CONV(SQUARE(4, 2, 1), 16, 16, true), ONE(16, 6, 6), .batch = 1},
    {.name = "conv_tile_7", CONV(SQUARE(3, 1, 1), 7, 1, true), ONE(2, 3, 7), .batch = 1},
    {.name = "conv_tile_8", CONV(SQUARE(3, 1, 1), 8, 1, true), ONE(2, 3, 8), .batch = 1},
    {.name = "conv_tile_9", CONV(SQUARE(3, 1, 1), 9, 1, true), ONE(2, 3, 9), .batch = 1},
    {.name = "conv_tile_15", CONV(SQUARE(3, 1, 1), 15, 1, true), ONE(2, 3, 15), .batch = 1},
    {.name = "conv_tile_16", CONV(SQUARE(3, 1, 1), 16, 1, true), ONE(2, 3, 16), .batch = 1},
    {.name = "conv_tile_17", CONV(SQUARE(3, 1, 1), 17, 1, true), ONE(2, 3, 17), .batch = 1},

    /* --- transposed convolution --- */
    {.name = "transpose_1x1_image",
     TRANSPOSE(SQUARE(1, 1, 0), 1, 1, true),
     ONE(1, 1, 1),
     .batch = 1},
    {.name = "transpose_1x1", TRANSPOSE(SQUARE(1, 1, 0), 17, 1, true), ONE(31, 3, 5), .batch = 3},
    {.name = "transpose_4x4_stride2",
     TRANSPOSE(SQUARE(4, 2, 1), 3, 1, true),
     ONE(6, 4, 5),
     .batch = 2},
    {.name = "transpose_4x4_stride2_on_1x1",
     TRANSPOSE(SQUARE(4, 2, 1), 16, 1, false),
     ONE(17, 1, 1),
     .batch = 1},
    {.name = "transpose_3x3_pad", TRANSPOSE(SQUARE(3, 1, 1), 9, 1, true), ONE(7, 5, 8), .batch = 1},
    {.name = "transpose_3x3_groups3",
     TRANSPOSE(SQUARE(3, 2, 1), 9, 3, true),
     ONE(15, 4, 4),
     .batch = 3},
    {.name = "transpose_3x3_channels_31_to_33",
     TRANSPOSE(SQUARE(3, 1, 1), 33, 1, false),
     ONE(31, 2, 3),
     .batch = 1},
    {.name = "transpose_depthwise",
     TRANSPOSE(SQUARE(4, 2, 1), 17, 17, true),
     ONE(17, 3, 3),
     .batch = 2},
    {.name = "transpose_2x2_stride2",
     TRANSPOSE(SQUARE(2, 2, 0), 8, 1, true),
     ONE(16, 4, 4),
     .batch = 5},
    {.name = "transpose_stride_exceeds_kernel",
     TRANSPOSE(SQUARE(2, 3, 0), 4, 1, true),
     ONE(4, 4, 3),
     .batch = 2},
    {.name = "transpose_5x5_pad2_stride3",
     TRANSPOSE(SQUARE(5, 3, 2), 5, 1, true),
     ONE(3, 4, 4),
     .batch = 1},
    {.name = "transpose_uneven_window",
     TRANSPOSE(WINDOW(1, 3, 2, 1, 0, 1), 7, 1, true),
     ONE(5, 4, 9),
     .batch = 2},
    {.name = "transpose_inference",
     TRANSPOSE(SQUARE(4, 2, 1), 5, 1, true),
     ONE(3, 3, 4),
     .batch = 2,
     .flags = CASE_INFERENCE},

    /* --- linear --- */
    {.name = "linear_1_to_1", LINEAR(1, true), ONE(1, 1, 1), .batch = 1},
    {.name = "linear_17_to_31", LINEAR(31, true), ONE(17, 1, 1), .batch = 3},
    {.name = "linear_33_to_7", LINEAR(7, false), ONE(33, 1, 1), .batch = 1},
    {.name = "linear_of_image", LINEAR(10, true), ONE(3, 4, 5), .batch = 5},
    {.name = "linear_tile_7", LINEAR(7, true), ONE(7, 1, 1), .batch = 7},
    {.name = "linear_tile_8", LINEAR(8, true), ONE(8, 1, 1), .batch = 8},
    {.name = "linear_tile_9", LINEAR(9, true), ONE(9, 1, 1), .batch = 9},
    {.name = "linear_tile_15", LINEAR(15, true), ONE(15, 1, 1), .batch = 15},
    {.name = "linear_tile_16", LINEAR(16, true), ONE(16, 1, 1), .batch = 16},
    {.name = "linear_tile_17", LINEAR(17, true), ONE(17, 1, 1), .batch = 17},

    /* --- pooling --- */
    {.name = "max_1x1_image", POOL(op_max_pool, SQUARE(1, 1, 0), false), ONE(1, 1, 1), .batch = 1},
    {.name = "max_2x2", POOL(op_max_pool, SQUARE(2, 2, 0), false), ONE(3, 6, 8), .batch = 2},
    {.name = "max_2x2_remainder",
     POOL(op_max_pool, SQUARE(2, 2, 0), false),
     ONE(5, 7, 9),
     .batch = 3},
    {.name = "max_2x2_ceil", POOL(op_max_pool, SQUARE(2, 2, 0), true), ONE(3, 7, 9), .batch = 1},
    {.name = "max_2x2_stride3",
     POOL(op_max_pool, SQUARE(2, 3, 0), false),
     ONE(4, 8, 11),
     .batch = 2},
    {.name = "max_2x2_stride3_ceil_dropped",
     POOL(op_max_pool, SQUARE(2, 3, 0), true),
     ONE(2, 6, 9),
     .batch = 2},
    {.name = "max_3x3_stride2",
     POOL(op_max_pool, SQUARE(3, 2, 0), false),
     ONE(4, 13, 11),
     .batch = 1},
    {.name = "max_3x3_stride2_ceil",
     POOL(op_max_pool, SQUARE(3, 2, 0), true),
     ONE(3, 8, 10),
     .batch = 3},
    {.name = "max_3x3_stride2_pad_ceil",
     POOL(op_max_pool, SQUARE(3, 2, 1), true),
     ONE(3, 8, 9),
     .batch = 2},
    {.name = "max_3x3_pad", POOL(op_max_pool, SQUARE(3, 1, 1), false), ONE(7, 5, 6), .batch = 1},
    {.name = "max_5x5_stride3",
     POOL(op_max_pool, SQUARE(5, 3, 0), false),
     ONE(2, 14, 14),
     .batch = 1},
    {.name = "max_5x5_pad_on_3x3",
     POOL(op_max_pool, SQUARE(5, 2, 2), true),
     ONE(3, 3, 3),
     .batch = 3},
    {.name = "max_uneven",
     POOL(op_max_pool, WINDOW(2, 3, 1, 2, 1, 0), false),
     ONE(3, 5, 7),
     .batch = 2},
    {.name = "max_global", GLOBAL_POOL(op_max_pool), ONE(17, 5, 7), .batch = 2},
    {.name = "max_global_1x1", GLOBAL_POOL(op_max_pool), ONE(5, 1, 1), .batch = 3},
    {.name = "max_tile_15", POOL(op_max_pool, SQUARE(2, 1, 0), false), ONE(2, 3, 15), .batch = 1},
    {.name = "max_tile_16", POOL(op_max_pool, SQUARE(2, 1, 0), false), ONE(2, 3, 16), .batch = 1},
    {.name = "max_tile_17", POOL(op_max_pool, SQUARE(2, 1, 0), false), ONE(2, 3, 17), .batch = 1},
    {.name = "max_ties",
     POOL(op_max_pool, SQUARE(3, 2, 0), false),
     ONE(3, 9, 9),
     .batch = 2,
     .flags = CASE_TIES},
    {.name = "max_ties_pad",
     POOL(op_max_pool, SQUARE(3, 2, 1), true),
     ONE(3, 8, 8),
     .batch = 1,
     .flags = CASE_TIES},
    {.name = "max_inference",
     POOL(op_max_pool, SQUARE(3, 2, 1), false),
     ONE(3, 7, 8),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "average_1x1_image",
     POOL(op_average_pool, SQUARE(1, 1, 0), false),
     ONE(1, 1, 1),
     .batch = 1},
    {.name = "average_2x2",
     POOL(op_average_pool, SQUARE(2, 2, 0), false),
     ONE(3, 6, 8),
     .batch = 2},
    {.name = "average_2x2_remainder",
     POOL(op_average_pool, SQUARE(2, 2, 0), false),
     ONE(5, 7, 9),
     .batch = 3},
    {.name = "average_2x2_ceil",
     POOL(op_average_pool, SQUARE(2, 2, 0), true),
     ONE(3, 7, 9),
     .batch = 1},
    {.name = "average_2x2_stride3",
     POOL(op_average_pool, SQUARE(2, 3, 0), false),
     ONE(4, 8, 11),
     .batch = 2},
    {.name = "average_2x2_stride3_ceil_dropped",
     POOL(op_average_pool, SQUARE(2, 3, 0), true),
     ONE(2, 6, 9),
     .batch = 2},
    {.name = "average_3x3_stride2",
     POOL(op_average_pool, SQUARE(3, 2, 0), false),
     ONE(4, 13, 11),
     .batch = 1},
    {.name = "average_3x3_stride2_ceil",
     POOL(op_average_pool, SQUARE(3, 2, 0), true),
     ONE(3, 8, 10),
     .batch = 3},
    {.name = "average_3x3_stride2_pad_ceil",
     POOL(op_average_pool, SQUARE(3, 2, 1), true),
     ONE(3, 8, 9),
     .batch = 2},
    {.name = "average_3x3_pad",
     POOL(op_average_pool, SQUARE(3, 1, 1), false),
     ONE(7, 5, 6),
     .batch = 1},
    {.name = "average_5x5_stride3",
     POOL(op_average_pool, SQUARE(5, 3, 0), false),
     ONE(2, 14, 14),
     .batch = 1},
    {.name = "average_5x5_pad_on_3x3",
     POOL(op_average_pool, SQUARE(5, 2, 2), true),
     ONE(3, 3, 3),
     .batch = 3},
    {.name = "average_uneven",
     POOL(op_average_pool, WINDOW(2, 3, 1, 2, 1, 0), false),
     ONE(3, 5, 7),
     .batch = 2},
    {.name = "average_global", GLOBAL_POOL(op_average_pool), ONE(17, 5, 7), .batch = 2},
    {.name = "average_global_1x1", GLOBAL_POOL(op_average_pool), ONE(5, 1, 1), .batch = 3},
    {.name = "average_tile_15",
     POOL(op_average_pool, SQUARE(2, 1, 0), false),
     ONE(2, 3, 15),
     .batch = 1},
    {.name = "average_tile_16",
     POOL(op_average_pool, SQUARE(2, 1, 0), false),
     ONE(2, 3, 16),
     .batch = 1},
    {.name = "average_tile_17",
     POOL(op_average_pool, SQUARE(2, 1, 0), false),
     ONE(2, 3, 17),
     .batch = 1},
    {.name = "average_inference",
     POOL(op_average_pool, SQUARE(3, 2, 1), false),
     ONE(3, 7, 8),
     .batch = 2,
     .flags = CASE_INFERENCE},

    /* --- activations --- */
    {.name = "relu_1", .op = &op_relu, ONE(1, 1, 1), .batch = 1},
    {.name = "relu", .op = &op_relu, ONE(3, 5, 7), .batch = 3},
    {.name = "relu_tile_15", .op = &op_relu, ONE(1, 1, 15), .batch = 1},
    {.name = "relu_tile_16", .op = &op_relu, ONE(1, 1, 16), .batch = 1},
    {.name = "relu_tile_17", .op = &op_relu, ONE(1, 1, 17), .batch = 1},
    {.name = "leaky_relu_1", LEAKY(0.2f), ONE(1, 1, 1), .batch = 1},
    {.name = "leaky_relu", LEAKY(0.2f), ONE(3, 5, 7), .batch = 3},
    {.name = "leaky_relu_tile_15", LEAKY(0.2f), ONE(1, 1, 15), .batch = 1},
    {.name = "leaky_relu_tile_16", LEAKY(0.2f), ONE(1, 1, 16), .batch = 1},
    {.name = "leaky_relu_tile_17", LEAKY(0.2f), ONE(1, 1, 17), .batch = 1},
    {.name = "prelu_1", PRELU, ONE(1, 1, 1), .batch = 1},
    {.name = "prelu", PRELU, ONE(3, 5, 7), .batch = 3},
    {.name = "prelu_17_channels", PRELU, ONE(17, 4, 5), .batch = 2},
    {.name = "prelu_33_channels", PRELU, ONE(33, 3, 3), .batch = 3},
    {.name = "prelu_vectors", PRELU, ONE(16, 1, 1), .batch = 5},
    {.name = "prelu_inference", PRELU, ONE(18, 3, 5), .batch = 2, .flags = CASE_INFERENCE},
    {.name = "elu_1", ELU(1), ONE(1, 1, 1), .batch = 1},
    {.name = "elu", ELU(1), ONE(3, 5, 7), .batch = 3},
    {.name = "elu_alpha", ELU(0.3f), ONE(17, 5, 3), .batch = 2},
    {.name = "elu_alpha_0", ELU(0), ONE(4, 3, 3), .batch = 1},
    {.name = "elu_large", ELU(1.5f), ONE(4, 3, 3), .batch = 2, .flags = CASE_LARGE},
    {.name = "gelu_1", .op = &op_gelu, ONE(1, 1, 1), .batch = 1},
    {.name = "gelu", .op = &op_gelu, ONE(17, 5, 7), .batch = 3},
    {.name = "gelu_large", .op = &op_gelu, ONE(4, 3, 3), .batch = 2, .flags = CASE_LARGE},
    {.name = "silu_1", .op = &op_silu, ONE(1, 1, 1), .batch = 1},
    {.name = "silu", .op = &op_silu, ONE(17, 5, 7), .batch = 3},
    {.name = "silu_large", .op = &op_silu, ONE(4, 3, 3), .batch = 2, .flags = CASE_LARGE},
    {.name = "hardswish_1", .op = &op_hardswish, ONE(1, 1, 1), .batch = 1},
    {.name = "hardswish", .op = &op_hardswish, ONE(17, 5, 7), .batch = 3},
    {.name = "hardswish_large", .op = &op_hardswish, ONE(3, 5, 7), .batch = 3, .flags = CASE_LARGE},
    {.name = "hardsigmoid_1", .op = &op_hardsigmoid, ONE(1, 1, 1), .batch = 1},
    {.name = "hardsigmoid", .op = &op_hardsigmoid, ONE(16, 5, 7), .batch = 3},
    {.name = "hardsigmoid_large",
     .op = &op_hardsigmoid,
     ONE(3, 5, 7),
     .batch = 3,
     .flags = CASE_LARGE},
    {.name = "sigmoid_1", .op = &op_sigmoid, ONE(1, 1, 1), .batch = 1},
    {.name = "sigmoid", .op = &op_sigmoid, ONE(3, 5, 7), .batch = 3},
    {.name = "sigmoid_tile_15", .op = &op_sigmoid, ONE(1, 1, 15), .batch = 1},
    {.name = "sigmoid_tile_16", .op = &op_sigmoid, ONE(1, 1, 16), .batch = 1},
    {.name = "sigmoid_tile_17", .op = &op_sigmoid, ONE(1, 1, 17), .batch = 1},
    {.name = "tanh_1", .op = &op_tanh, ONE(1, 1, 1), .batch = 1},
    {.name = "tanh", .op = &op_tanh, ONE(3, 5, 7), .batch = 3},
    {.name = "tanh_tile_15", .op = &op_tanh, ONE(1, 1, 15), .batch = 1},
    {.name = "tanh_tile_16", .op = &op_tanh, ONE(1, 1, 16), .batch = 1},
    {.name = "tanh_tile_17", .op = &op_tanh, ONE(1, 1, 17), .batch = 1},
    {.name = "leaky_relu_slope_0", LEAKY(0), ONE(4, 3, 3), .batch = 1},
    {.name = "sigmoid_large", .op = &op_sigmoid, ONE(4, 3, 3), .batch = 2, .flags = CASE_LARGE},
    {.name = "tanh_large", .op = &op_tanh, ONE(4, 3, 3), .batch = 2, .flags = CASE_LARGE},
    {.name = "softmax_1", .op = &op_softmax, ONE(1, 1, 1), .batch = 1},
    {.name = "softmax_10", .op = &op_softmax, ONE(10, 1, 1), .batch = 3},
    {.name = "softmax_image", .op = &op_softmax, ONE(17, 3, 5), .batch = 2},
    {.name = "softmax_33", .op = &op_softmax, ONE(33, 1, 1), .batch = 5},
    {.name = "softmax_large", .op = &op_softmax, ONE(10, 2, 2), .batch = 2, .flags = CASE_LARGE},
    {.name = "softmax_inference",
     .op = &op_softmax,
     ONE(7, 3, 3),
     .batch = 1,
     .flags = CASE_INFERENCE},

    /* --- normalisation --- */
    {.name = "batch_norm_1_channel", NORM(1e-5f, 0.1f), ONE(1, 5, 5), .batch = 1},
    {.name = "batch_norm_vectors", NORM(1e-5f, 0.1f), ONE(7, 1, 1), .batch = 5},
    {.name = "batch_norm_17_channels", NORM(1e-5f, 0.1f), ONE(17, 4, 5), .batch = 3},
    {.name = "batch_norm_16_channels", NORM(1e-5f, 0.1f), ONE(16, 8, 8), .batch = 2},
    {.name = "batch_norm_33_channels", NORM(1e-5f, 0.1f), ONE(33, 3, 3), .batch = 1},
    {.name = "batch_norm_inference",
     NORM(1e-5f, 0.1f),
     ONE(17, 3, 5),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "batch_norm_inference_1x1",
     NORM(1e-5f, 0.1f),
     ONE(5, 1, 1),
     .batch = 1,
     .flags = CASE_INFERENCE},
    {.name = "batch_norm_tile_7", NORM(1e-5f, 0.1f), ONE(2, 1, 7), .batch = 1},
    {.name = "batch_norm_tile_8", NORM(1e-5f, 0.1f), ONE(2, 1, 8), .batch = 1},
    {.name = "batch_norm_tile_9", NORM(1e-5f, 0.1f), ONE(2, 1, 9), .batch = 1},
    {.name = "batch_norm_tile_15", NORM(1e-5f, 0.1f), ONE(2, 1, 15), .batch = 1},
    {.name = "batch_norm_tile_17", NORM(1e-5f, 0.1f), ONE(2, 1, 17), .batch = 1},
    {.name = "batch_norm_instance",
     INSTANCE(1e-5f),
     ONE(17, 3, 5),
     .batch = 3,
     .flags = CASE_INFERENCE},
    {.name = "batch_norm_instance_small",
     INSTANCE(1e-5f),
     ONE(33, 2, 2),
     .batch = 1,
     .flags = CASE_INFERENCE},
    {.name = "batch_norm_instance_trained", INSTANCE(1e-5f), ONE(9, 5, 5), .batch = 2},
    {.name = "batch_norm_epsilon", NORM(1e-2f, 0.3f), ONE(3, 4, 4), .batch = 2},
    {.name = "lrn_alexnet", LRN(5, 1e-4f, 0.75f, 1), ONE(17, 5, 5), .batch = 2},
    {.name = "lrn_strong", LRN(5, 1, 0.75f, 2), ONE(9, 3, 4), .batch = 3},
    {.name = "lrn_few_channels", LRN(5, 1, 0.75f, 1), ONE(3, 3, 3), .batch = 1},
    {.name = "lrn_size_1", LRN(1, 0.5f, 0.75f, 1), ONE(4, 3, 3), .batch = 1},
    {.name = "lrn_size_3_beta_half", LRN(3, 1, 0.5f, 1), ONE(16, 3, 5), .batch = 2},
    {.name = "lrn_1x1", LRN(7, 0.3f, 0.9f, 1.5f), ONE(33, 1, 1), .batch = 1},
    {.name = "lrn_inference",
     LRN(5, 1, 0.75f, 1),
     ONE(7, 4, 4),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "dropout_half", DROPOUT(0.5f), ONE(3, 5, 7), .batch = 3},
    {.name = "dropout_rate_0", DROPOUT(0), ONE(5, 3, 3), .batch = 1},
    {.name = "dropout_rate_0_3", DROPOUT(0.3f), ONE(17, 1, 1), .batch = 5},
    {.name = "dropout_rate_0_9", DROPOUT(0.9f), ONE(1, 3, 11), .batch = 1},
    {.name = "dropout_channels", DROPOUT_CHANNELS(0.3f), ONE(17, 3, 5), .batch = 3},
    {.name = "dropout_channels_vectors", DROPOUT_CHANNELS(0.5f), ONE(33, 1, 1), .batch = 2},
    {.name = "dropout_channels_blocks", DROPOUT_CHANNELS(0.5f), ONE(32, 5, 7), .batch = 2},
    {.name = "dropout_channels_inference",
     DROPOUT_CHANNELS(0.5f),
     ONE(3, 3, 3),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "dropout_channels_always",
     .op = &op_dropout,
     .attributes.dropout = {0.5f, true, true},
     ONE(6, 3, 5),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "dropout_inference", DROPOUT(0.5f), ONE(3, 3, 3), .batch = 2, .flags = CASE_INFERENCE},

    {.name = "dropout_always",
     .op = &op_dropout,
     .attributes.dropout = {0.5f, true},
     ONE(3, 5, 7),
     .batch = 2,
     .flags = CASE_INFERENCE},

    /* --- several inputs, and channel moves --- */
    {.name = "channel_scale", SCALED(17, 3, 5), .batch = 3},
    {.name = "channel_scale_blocks", SCALED(32, 4, 7), .batch = 2},
    {.name = "channel_scale_vectors", SCALED(33, 1, 1), .batch = 5},
    {.name = "channel_scale_inference", SCALED(20, 5, 3), .batch = 2, .flags = CASE_INFERENCE},
    {.name = "concat_2",
     .op = &op_concat,
     .inputs = {{3, 5, 7}, {5, 5, 7}},
     .input_count = 2,
     .batch = 3},
    {.name = "concat_4",
     .op = &op_concat,
     .inputs = {{1, 3, 3}, {7, 3, 3}, {2, 3, 3}, {8, 3, 3}},
     .input_count = 4,
     .batch = 2},
    {.name = "concat_vectors",
     .op = &op_concat,
     .inputs = {{15, 1, 1}, {1, 1, 1}, {17, 1, 1}},
     .input_count = 3,
     .batch = 5},
    {.name = "add_2", .op = &op_add, PAIR(3, 5, 7), .batch = 3},
    {.name = "add_3",
     .op = &op_add,
     .inputs = {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
     .input_count = 3,
     .batch = 2},
    {.name = "add_tile_15", .op = &op_add, PAIR(1, 1, 15), .batch = 1},
    {.name = "add_tile_16", .op = &op_add, PAIR(1, 1, 16), .batch = 1},
    {.name = "add_tile_17", .op = &op_add, PAIR(1, 1, 17), .batch = 1},
    {.name = "channel_shuffle_1_of_5", SHUFFLE(1), ONE(5, 3, 3), .batch = 1},
    {.name = "channel_shuffle_2_of_8", SHUFFLE(2), ONE(8, 5, 7), .batch = 3},
    {.name = "channel_shuffle_3_of_9", SHUFFLE(3), ONE(9, 1, 1), .batch = 2},
    {.name = "channel_shuffle_4_of_16", SHUFFLE(4), ONE(16, 3, 4), .batch = 1},
    {.name = "channel_shuffle_7_of_7", SHUFFLE(7), ONE(7, 2, 2), .batch = 1},
    {.name = "channel_shuffle_8_of_32", SHUFFLE(8), ONE(32, 3, 3), .batch = 1},
    {.name = "channel_shift_8_3x3", .op = &op_channel_shift, ONE(8, 3, 3), .batch = 1},
    {.name = "channel_shift_9_5x7", .op = &op_channel_shift, ONE(9, 5, 7), .batch = 2},
    {.name = "channel_shift_9_1x1", .op = &op_channel_shift, ONE(9, 1, 1), .batch = 3},
    {.name = "channel_shift_16_4x4", .op = &op_channel_shift, ONE(16, 4, 4), .batch = 1},
    {.name = "channel_shift_17_4x5", .op = &op_channel_shift, ONE(17, 4, 5), .batch = 3},
    {.name = "channel_shift_18_1x6", .op = &op_channel_shift, ONE(18, 1, 6), .batch = 1},
    {.name = "channel_shift_31_3x2", .op = &op_channel_shift, ONE(31, 3, 2), .batch = 1},

    /* --- losses --- */
    {.name = "softmax_cross_entropy_1_class",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(1, 1, 1),
     .batch = 2},
    {.name = "softmax_cross_entropy_2_classes",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(2, 1, 1),
     .batch = 1},
    {.name = "softmax_cross_entropy_10_classes",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(10, 1, 1),
     .batch = 5},
    {.name = "softmax_cross_entropy_17_classes",
     LOSS(op_softmax_cross_entropy, 0.3f),
     ONE(17, 1, 1),
     .batch = 3},
    {.name = "softmax_cross_entropy_1000_classes",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(1000, 1, 1),
     .batch = 2},
    {.name = "softmax_cross_entropy_large",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(10, 1, 1),
     .batch = 7,
     .flags = CASE_LARGE},
    {.name = "softmax_cross_entropy_inference",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(10, 1, 1),
     .batch = 3,
     .flags = CASE_INFERENCE},
    {.name = "softmax_cross_entropy_smoothed_1", SMOOTHED(0.1f), ONE(1, 1, 1), .batch = 2},
    {.name = "softmax_cross_entropy_smoothed_10", SMOOTHED(0.1f), ONE(10, 1, 1), .batch = 5},
    {.name = "softmax_cross_entropy_smoothed_17", SMOOTHED(0.9f), ONE(17, 1, 1), .batch = 3},
    {.name = "softmax_cross_entropy_smoothed_1000", SMOOTHED(0.2f), ONE(1000, 1, 1), .batch = 2},
    {.name = "softmax_cross_entropy_smoothed_large",
     SMOOTHED(0.1f),
     ONE(10, 1, 1),
     .batch = 7,
     .flags = CASE_LARGE},
    {.name = "softmax_cross_entropy_smoothed_inference",
     SMOOTHED(0.1f),
     ONE(10, 1, 1),
     .batch = 3,
     .flags = CASE_INFERENCE},
    {.name = "perceptron_1_class", LOSS(op_perceptron, 1), ONE(1, 1, 1), .batch = 2},
    {.name = "perceptron_2_classes", LOSS(op_perceptron, 1), ONE(2, 1, 1), .batch = 4},
    {.name = "perceptron_10_classes", LOSS(op_perceptron, 1), ONE(10, 1, 1), .batch = 5},
    {.name = "perceptron_17_classes", LOSS(op_perceptron, 0.3f), ONE(17, 1, 1), .batch = 3},
    {.name = "perceptron_1000_classes", LOSS(op_perceptron, 1), ONE(1000, 1, 1), .batch = 2},
    {.name = "perceptron_large",
     LOSS(op_perceptron, 1),
     ONE(10, 1, 1),
     .batch = 7,
     .flags = CASE_LARGE},
    {.name = "perceptron_inference",
     LOSS(op_perceptron, 1),
     ONE(10, 1, 1),
     .batch = 3,
     .flags = CASE_INFERENCE},
    {.name = "binary_cross_entropy_1", BCE_TO(1), ONE(1, 5, 7), .batch = 3},
    {.name = "binary_cross_entropy_0", BCE_TO(0), ONE(1, 1, 1), .batch = 1},
    {.name = "binary_cross_entropy_0_9", BCE_TO(0.9f), ONE(2, 3, 3), .batch = 1},
    {.name = "binary_cross_entropy_pair",
     LOSS(op_binary_cross_entropy, 1),
     PAIR(3, 5, 3),
     .batch = 2,
     .flags = CASE_UNIT_TARGET},
    {.name = "binary_cross_entropy_weight",
     LOSS(op_binary_cross_entropy, 0.5f),
     PAIR(17, 1, 1),
     .batch = 3,
     .flags = CASE_UNIT_TARGET},
    {.name = "binary_cross_entropy_large",
     LOSS(op_binary_cross_entropy, 1),
     PAIR(5, 3, 3),
     .batch = 2,
     .flags = CASE_UNIT_TARGET | CASE_LARGE},
    {.name = "l1_loss_1", LOSS(op_l1_loss, 1), PAIR(1, 1, 1), .batch = 1},
    {.name = "l1_loss", LOSS(op_l1_loss, 1), PAIR(3, 5, 7), .batch = 3},
    {.name = "l1_loss_weight", LOSS(op_l1_loss, 100), PAIR(17, 1, 1), .batch = 5},
    {.name = "l1_loss_inference",
     LOSS(op_l1_loss, 1),
     PAIR(2, 3, 3),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "l2_loss_1", LOSS(op_l2_loss, 1), PAIR(1, 1, 1), .batch = 1},
    {.name = "l2_loss", LOSS(op_l2_loss, 1), PAIR(3, 5, 7), .batch = 3},
    {.name = "l2_loss_weight", LOSS(op_l2_loss, 100), PAIR(17, 1, 1), .batch = 5},
    {.name = "l2_loss_inference",
     LOSS(op_l2_loss, 1),
     PAIR(2, 3, 3),
     .batch = 2,
     .flags = CASE_INFERENCE},
    {.name = "l1_loss_ties", LOSS(op_l1_loss, 1), PAIR(2, 5, 5), .batch = 1, .flags = CASE_TIES},

    /* --- every family at every size --- */
    /* clang-format off */
    EDGE_SIZES(EDGE_CONV_OUTPUTS)
    EDGE_SIZES(EDGE_CONV_INPUTS)
    EDGE_SIZES(EDGE_CONV_IMAGES)
    EDGE_SIZES(EDGE_DEPTHWISE)
    EDGE_SIZES(EDGE_DILATED)
    EDGE_SIZES(EDGE_DILATED_INPUTS)
    EDGE_SIZES(EDGE_DILATED_DEPTHWISE)
    EDGE_SIZES(EDGE_TRANSPOSE_OUTPUTS)
    EDGE_SIZES(EDGE_TRANSPOSE_INPUTS)
    EDGE_SIZES(EDGE_LINEAR)
    EDGE_SIZES(EDGE_LINEAR_IMAGES)
    EDGE_SIZES(EDGE_MAX)
    EDGE_SIZES(EDGE_MAX_OVERLAPPING)
    EDGE_SIZES(EDGE_MAX_GLOBAL)
    EDGE_SIZES(EDGE_MAX_CHANNELS)
    EDGE_SIZES(EDGE_AVERAGE)
    EDGE_SIZES(EDGE_AVERAGE_OVERLAPPING)
    EDGE_SIZES(EDGE_AVERAGE_GLOBAL)
    EDGE_SIZES(EDGE_AVERAGE_CHANNELS)
    EDGE_SIZES(EDGE_RELU)
    EDGE_SIZES(EDGE_LEAKY)
    EDGE_SIZES(EDGE_PRELU_CHANNELS)
    EDGE_SIZES(EDGE_PRELU_AREA)
    EDGE_SIZES(EDGE_ELU)
    EDGE_SIZES(EDGE_GELU)
    EDGE_SIZES(EDGE_SILU)
    EDGE_SIZES(EDGE_HARDSWISH)
    EDGE_SIZES(EDGE_HARDSIGMOID)
    EDGE_SIZES(EDGE_SIGMOID)
    EDGE_SIZES(EDGE_TANH)
    EDGE_SIZES(EDGE_SOFTMAX)
    EDGE_SIZES(EDGE_SOFTMAX_AREA)
    EDGE_SIZES(EDGE_NORM_AREA)
    EDGE_SIZES(EDGE_NORM_CHANNELS)
    EDGE_SIZES(EDGE_LRN_CHANNELS)
    EDGE_SIZES(EDGE_LRN_AREA)
    EDGE_SIZES(EDGE_DROPOUT)
    EDGE_SIZES(EDGE_DROPOUT_CHANNELS)
    EDGE_SIZES(EDGE_SCALE_CHANNELS)
    EDGE_SIZES(EDGE_SCALE_AREA)
    EDGE_SIZES(EDGE_CONCAT)
    EDGE_SIZES(EDGE_ADD)
    EDGE_SIZES(EDGE_SHUFFLE_AREA)
    EDGE_SIZES(EDGE_SHUFFLE_GROUPS)
    EDGE_SIZES(EDGE_SHIFT_WIDTH)
    EDGE_SIZES(EDGE_SHIFT_CHANNELS)
    EDGE_SIZES(EDGE_CROSS_ENTROPY)
    EDGE_SIZES(EDGE_PERCEPTRON)
    EDGE_SIZES(EDGE_BCE)
    EDGE_SIZES(EDGE_L1)
    EDGE_SIZES(EDGE_L2)
    EDGE_SIZES(EDGE_NORM_INFERENCE)
    /* clang-format on */

    /* --- around the size of a task of elementwise work: 16384 values --- */
    {.name = "relu of a block but one",
     .op = &op_relu,
     ONE(1, 1, 16383),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "relu of a block", .op = &op_relu, ONE(1, 1, 16384), .batch = 1, .flags = CASE_LARGER},
    {.name = "relu of a block and one",
     .op = &op_relu,
     ONE(1, 1, 16385),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "dropout of a block but one",
     DROPOUT(0.5f),
     ONE(1, 1, 16383),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "dropout of a block and one",
     DROPOUT(0.5f),
     ONE(1, 1, 16385),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "add of a block and one",
     .op = &op_add,
     PAIR(1, 1, 16385),
     .batch = 1,
     .flags = CASE_LARGER},

    {.name = "gelu of a block and one",
     .op = &op_gelu,
     ONE(1, 1, 16385),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "prelu of a block and one", PRELU, ONE(3, 1, 16385), .batch = 2, .flags = CASE_LARGER},
    {.name = "channel_scale of a block and one",
     SCALED(3, 1, 16385),
     .batch = 2,
     .flags = CASE_LARGER},

    /* --- many images, many channels and strides --- */
    {.name = "conv dilated, 17 images",
     DILATED(SQUARE(3, 1, 2), 48, 1, 2, 2),
     ONE(40, 10, 35),
     .batch = 17,
     .flags = CASE_LARGER},
    {.name = "conv dilated of a plain input",
     DILATED(SQUARE(5, 1, 6), 24, 1, 3, 3),
     ONE(3, 19, 21),
     .batch = 3,
     .flags = CASE_LARGER},
    {.name = "conv of 17 images",
     CONV(SQUARE(3, 1, 1), 16, 1, true),
     ONE(16, 8, 8),
     .batch = 17,
     .flags = CASE_LARGER},
    {.name = "conv of 37 images, stride 2",
     CONV(SQUARE(3, 2, 1), 33, 1, true),
     ONE(15, 7, 9),
     .batch = 37,
     .flags = CASE_LARGER},
    {.name = "conv of 16 images, 5x5",
     CONV(SQUARE(5, 1, 0), 50, 1, true),
     ONE(20, 12, 12),
     .batch = 16,
     .flags = CASE_LARGER},
    {.name = "conv of 9 images, 2 groups",
     CONV(SQUARE(5, 1, 2), 34, 2, true),
     ONE(14, 13, 13),
     .batch = 9,
     .flags = CASE_LARGER},
    {.name = "conv 11x11 stride 4",
     CONV(SQUARE(11, 4, 0), 17, 1, true),
     ONE(3, 47, 47),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "conv 1x1 stride 2 of 19 images",
     CONV(SQUARE(1, 2, 0), 32, 1, true),
     ONE(16, 9, 9),
     .batch = 19,
     .flags = CASE_LARGER},
    {.name = "conv 3x3 stride 5",
     CONV(SQUARE(3, 5, 2), 7, 1, true),
     ONE(5, 17, 13),
     .batch = 3,
     .flags = CASE_LARGER},
    {.name = "conv 4x4 stride 3 pad 3",
     CONV(SQUARE(4, 3, 3), 9, 1, true),
     ONE(3, 10, 11),
     .batch = 4,
     .flags = CASE_LARGER},
    {.name = "conv 1x1 pad 2",
     CONV(SQUARE(1, 1, 2), 5, 1, true),
     ONE(3, 4, 5),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "conv stride 17",
     CONV(SQUARE(3, 17, 1), 5, 1, true),
     ONE(4, 40, 37),
     .batch = 3,
     .flags = CASE_LARGER},
    {.name = "conv stride 17 of 21 images",
     CONV(SQUARE(2, 17, 0), 4, 2, true),
     ONE(4, 19, 36),
     .batch = 21,
     .flags = CASE_LARGER},
    {.name = "conv depthwise of 23 images",
     CONV(SQUARE(3, 1, 1), 19, 19, true),
     ONE(19, 11, 11),
     .batch = 23,
     .flags = CASE_LARGER},
    {.name = "conv depthwise 8x8 stride 2",
     CONV(SQUARE(3, 2, 1), 32, 32, true),
     ONE(32, 8, 8),
     .batch = 16,
     .flags = CASE_LARGER},
    {.name = "conv of 3 channels in a group",
     CONV(SQUARE(3, 1, 1), 12, 4, true),
     ONE(8, 16, 16),
     .batch = 5,
     .flags = CASE_LARGER},
    {.name = "conv of 67 channels",
     CONV(SQUARE(3, 1, 1), 67, 1, true),
     ONE(65, 5, 5),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "conv_transpose 4x4 stride 2",
     TRANSPOSE(SQUARE(4, 2, 1), 33, 1, true),
     ONE(65, 8, 8),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "conv_transpose of 19 images",
     TRANSPOSE(SQUARE(4, 2, 1), 12, 2, true),
     ONE(16, 6, 5),
     .batch = 19,
     .flags = CASE_LARGER},
    {.name = "conv_transpose to a large image",
     TRANSPOSE(SQUARE(4, 2, 1), 3, 1, true),
     ONE(7, 61, 37),
     .batch = 1,
     .flags = CASE_LARGER},
    {.name = "linear of 4 images",
     LINEAR(131, true),
     ONE(1031, 1, 1),
     .batch = 4,
     .flags = CASE_LARGER},
    {.name = "linear of 67 images",
     LINEAR(1009, true),
     ONE(257, 1, 1),
     .batch = 67,
     .flags = CASE_LARGER},
    {.name = "relu of many values",
     .op = &op_relu,
     ONE(3, 97, 101),
     .batch = 3,
     .flags = CASE_LARGER},
    {.name = "batch_norm 32x32",
     NORM(1e-5f, 0.1f),
     ONE(5, 32, 32),
     .batch = 19,
     .flags = CASE_LARGER},
    {.name = "batch_norm of 131 channels",
     NORM(1e-5f, 0.1f),
     ONE(131, 1, 1),
     .batch = 33,
     .flags = CASE_LARGER},
    {.name = "max_pool 3x3 of 32x32, overlapping",
     POOL(op_max_pool, SQUARE(3, 1, 1), false),
     ONE(5, 32, 32),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "max_pool 5x5 pad 2, overlapping",
     POOL(op_max_pool, SQUARE(5, 1, 2), false),
     ONE(3, 9, 16),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "max_pool 1x1",
     POOL(op_max_pool, SQUARE(1, 1, 0), false),
     ONE(3, 5, 7),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "max_pool uneven, padded along the width",
     POOL(op_max_pool, WINDOW(1, 4, 1, 1, 0, 2), true),
     ONE(3, 6, 11),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "max_pool uneven, padded along the height",
     POOL(op_max_pool, WINDOW(4, 3, 1, 2, 2, 1), true),
     ONE(3, 6, 12),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "max_pool 7x7 stride 2 pad 3",
     POOL(op_max_pool, SQUARE(7, 2, 3), true),
     ONE(2, 17, 18),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "lrn of pieces",
     LRN(5, 1e-2f, 0.75f, 1),
     ONE(96, 13, 13),
     .batch = 2,
     .flags = CASE_LARGER},
    {.name = "dropout of many values",
     DROPOUT(0.5f),
     ONE(7, 61, 67),
     .batch = 3,
     .flags = CASE_LARGER},
    {.name = "softmax of wide images",
     .op = &op_softmax,
     ONE(5, 23, 29),
     .batch = 3,
     .flags = CASE_LARGER},
    {.name = "l1_loss of large images",
     LOSS(op_l1_loss, 1),
     PAIR(3, 61, 67),
     .batch = 3,
     .flags = CASE_LARGER},

    /* --- layers of the studied networks, family by family --- */
    {.name = "resnet20 stem",
     CONV(SQUARE(3, 1, 1), 16, 1, false),
     ONE(3, 32, 32),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "resnet20 stage1",
     CONV(SQUARE(3, 1, 1), 16, 1, false),
     ONE(16, 32, 32),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "resnet20 stage2",
     CONV(SQUARE(3, 1, 1), 32, 1, false),
     ONE(32, 16, 16),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "resnet20 stage3",
     CONV(SQUARE(3, 1, 1), 64, 1, false),
     ONE(64, 8, 8),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "resnet20 halving",
     CONV(SQUARE(3, 2, 1), 32, 1, false),
     ONE(16, 32, 32),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "resnet20 stage2, 1 image",
     CONV(SQUARE(3, 1, 1), 32, 1, false),
     ONE(32, 16, 16),
     .batch = 1,
     .flags = CASE_TIMED},
    {.name = "resnet20-dsc pointwise",
     CONV(SQUARE(1, 1, 0), 32, 1, false),
     ONE(32, 16, 16),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "lenet conv1",
     CONV(SQUARE(5, 1, 0), 20, 1, false),
     ONE(1, 28, 28),
     .batch = 64,
     .flags = CASE_TIMED},
    {.name = "lenet conv2",
     CONV(SQUARE(5, 1, 0), 50, 1, false),
     ONE(20, 12, 12),
     .batch = 64,
     .flags = CASE_TIMED},
    {.name = "alexnet conv1",
     CONV(SQUARE(11, 4, 0), 96, 1, false),
     ONE(3, 227, 227),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "alexnet conv2",
     CONV(SQUARE(5, 1, 2), 256, 2, false),
     ONE(96, 27, 27),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "alexnet conv3",
     CONV(SQUARE(3, 1, 1), 384, 1, false),
     ONE(256, 13, 13),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "alexnet conv3, 1 image",
     CONV(SQUARE(3, 1, 1), 384, 1, false),
     ONE(256, 13, 13),
     .batch = 1,
     .flags = CASE_TIMED},
    {.name = "pix2pix 4x4 stride 2",
     CONV(SQUARE(4, 2, 1), 128, 1, false),
     ONE(64, 64, 64),
     .batch = 1,
     .flags = CASE_TIMED},
    {.name = "resnet20-dsc depthwise",
     CONV(SQUARE(3, 1, 1), 32, 32, false),
     ONE(32, 16, 16),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "mobilenet depthwise",
     CONV(SQUARE(3, 1, 1), 512, 512, false),
     ONE(512, 2, 2),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "pix2pix to 64x64",
     TRANSPOSE(SQUARE(4, 2, 1), 64, 1, false),
     ONE(256, 32, 32),
     .batch = 1,
     .flags = CASE_TIMED},
    {.name = "pix2pix to 2x2",
     TRANSPOSE(SQUARE(4, 2, 1), 512, 1, false),
     ONE(512, 1, 1),
     .batch = 1,
     .flags = CASE_TIMED},
    {.name = "lenet ip1", LINEAR(500, true), ONE(800, 1, 1), .batch = 64, .flags = CASE_TIMED},
    {.name = "alexnet fc7", LINEAR(4096, true), ONE(4096, 1, 1), .batch = 32, .flags = CASE_TIMED},
    {.name = "alexnet fc7, 1 image",
     LINEAR(4096, true),
     ONE(4096, 1, 1),
     .batch = 1,
     .flags = CASE_TIMED},
    {.name = "lenet pool1",
     POOL(op_max_pool, SQUARE(2, 2, 0), false),
     ONE(20, 24, 24),
     .batch = 64,
     .flags = CASE_TIMED},
    {.name = "alexnet pool1",
     POOL(op_max_pool, SQUARE(3, 2, 0), false),
     ONE(96, 55, 55),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "average 3x3 stride 2",
     POOL(op_average_pool, SQUARE(3, 2, 0), false),
     ONE(96, 55, 55),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "resnet20 global pool",
     GLOBAL_POOL(op_average_pool),
     ONE(64, 8, 8),
     .batch = 128,
     .flags = CASE_TIMED},
    {.name = "resnet20 batch_norm",
     NORM(1e-5f, 0.1f),
     ONE(16, 32, 32),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "alexnet norm1",
     LRN(5, 1e-4f, 0.75f, 1),
     ONE(96, 55, 55),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "relu of a layer", .op = &op_relu, ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "leaky_relu of a layer",
     LEAKY(0.2f),
     ONE(64, 64, 64),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "prelu of a layer", PRELU, ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "elu of a layer", ELU(1), ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "gelu of a layer", .op = &op_gelu, ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "silu of a layer", .op = &op_silu, ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "hardswish of a layer",
     .op = &op_hardswish,
     ONE(64, 64, 64),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "hardsigmoid of a layer",
     .op = &op_hardsigmoid,
     ONE(64, 64, 64),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "sigmoid of a layer",
     .op = &op_sigmoid,
     ONE(64, 64, 64),
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "tanh of a layer", .op = &op_tanh, ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "dropout", DROPOUT(0.5f), ONE(64, 64, 64), .batch = 16, .flags = CASE_TIMED},
    {.name = "add of a layer", .op = &op_add, PAIR(16, 32, 32), .batch = 64, .flags = CASE_TIMED},
    {.name = "concat of a layer",
     .op = &op_concat,
     .inputs = {{64, 28, 28}, {128, 28, 28}},
     .input_count = 2,
     .batch = 16,
     .flags = CASE_TIMED},
    {.name = "channel_shuffle of a layer",
     SHUFFLE(4),
     ONE(64, 16, 16),
     .batch = 64,
     .flags = CASE_TIMED},
    {.name = "channel_shift of a layer",
     .op = &op_channel_shift,
     ONE(64, 16, 16),
     .batch = 64,
     .flags = CASE_TIMED},
    {.name = "channel_scale of a layer", SCALED(64, 16, 16), .batch = 64, .flags = CASE_TIMED},
    {.name = "softmax of 1000 classes",
     .op = &op_softmax,
     ONE(1000, 1, 1),
     .batch = 128,
     .flags = CASE_TIMED},
    {.name = "loss of 1000 classes",
     LOSS(op_softmax_cross_entropy, 1),
     ONE(1000, 1, 1),
     .batch = 128,
     .flags = CASE_TIMED},
    {.name = "pix2pix adversarial loss",
     BCE_TO(1),
     ONE(1, 62, 62),
     .batch = 32,
     .flags = CASE_TIMED},
    {.name = "pix2pix l1_loss",
     LOSS(op_l1_loss, 1),
     PAIR(3, 256, 256),
     .batch = 1,
     .flags = CASE_TIMED},
};

const size_t op_case_count = sizeof op_cases / sizeof *op_cases;

const char *op_case_family(const struct op_case *op_case)
{
    const size_t channels = op_case->inputs[0].channels;
    const bool conv = op_case->op == &op_conv || op_case->op == &op_conv_transpose;
    return conv && channels > 1 && op_case->attributes.conv.groups == channels ? "depthwise"
                                                                               : op_case->op->name;
}
