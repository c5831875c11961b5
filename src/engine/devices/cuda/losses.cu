/* The losses. In the forward pass a block, or for the losses that read labels
 * a warp, does one image. The backward pass goes value by value and scales by weight / batch, and
 * by the loss scale of float16.
 */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/reduce.h"

#include <math.h>

static float loss_weight(const struct kernel_call *call)
{
    return call->site->node->attributes.loss.weight / (float)call->site->batch;
}

/* --- softmax_cross_entropy: a warp for each image --- */

struct logits {
    float largest, sum; /* the largest logit; the sum of exp(x - largest) */
};

static __device__ __forceinline__ struct logits look_at(const float *x, uint32_t classes,
                                                        uint32_t lane)
{
    struct logits logits = {x[0], 0};
    for (uint32_t c = lane; c < classes; c += WARP)
        logits.largest = fmaxf(logits.largest, x[c]);
    logits.largest = warp_max(logits.largest);
    for (uint32_t c = lane; c < classes; c += WARP)
        logits.sum += expf(x[c] - logits.largest);
    logits.sum = warp_sum(logits.sum);
    return logits;
}

static __device__ __forceinline__ float mean_logit(const float *x, uint32_t classes, float largest,
                                                   uint32_t lane)
{
    float sum = 0;
    for (uint32_t c = lane; c < classes; c += WARP)
        sum += x[c] - largest;
    return warp_sum(sum) / (float)classes;
}

static __global__ void cross_entropy(const float *x, const int32_t *labels, float *losses,
                                     float smoothing, uint32_t classes, uint32_t images)
{
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const float *row = x + (size_t)n * classes;
        const struct logits logits = look_at(row, classes, lane);
        float target = row[labels[n]] - logits.largest;
        if (smoothing > 0)
            target = (1 - smoothing) * target +
                     smoothing * mean_logit(row, classes, logits.largest, lane);
        if (lane == 0)
            losses[n] = logf(logits.sum) - target;
    }
}

static __global__ void cross_entropy_back(const float *x, const int32_t *labels, float *gradient,
                                          bool accumulate, const struct cuda_iteration *now,
                                          float weight, float smoothing, uint32_t classes,
                                          uint32_t images)
{
    const float scale = weight * now->loss_scale, share = smoothing / (float)classes;
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const float *row = x + (size_t)n * classes;
        const struct logits logits = look_at(row, classes, lane);
        for (uint32_t c = lane; c < classes; c += WARP) {
            const float probability = expf(row[c] - logits.largest) / logits.sum;
            const float target = (c == (uint32_t)labels[n] ? 1 - smoothing : 0) + share;
            gradient_store(&gradient[(size_t)n * classes + c], accumulate,
                           scale * (probability - target));
        }
    }
}

/* --- the same with soft targets (soft_target.h), in the order of the reference's formula --- */

struct soft_targets {
    const struct soft_target *of_images;
    const int32_t *labels;
    const float *class_weights; /* NULL: all 1 */
    float smoothing;
};

static struct soft_targets soft_targets_of(const struct kernel_call *call)
{
    return {call->soft_targets, call->labels, call->class_weights, loss_smoothing(call->site)};
}

/* Returns the weight of class c in the loss of image n. */
static __device__ __forceinline__ float soft_weight(const struct soft_targets *soft, uint32_t n,
                                                    uint32_t c, uint32_t classes)
{
    const struct soft_target target = soft->of_images[n];
    const float share = soft->smoothing / (float)classes;
    const float own = c == (uint32_t)soft->labels[n] ? target.own : 0;
    const float other = c == (uint32_t)target.partner ? target.other : 0;
    const float weight = soft->class_weights ? soft->class_weights[c] : 1;
    return (1 - soft->smoothing) * (own + other) + share * target.scale * weight;
}

static __global__ void soft_cross_entropy(const float *x, struct soft_targets soft, float *losses,
                                          uint32_t classes, uint32_t images)
{
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const float *row = x + (size_t)n * classes;
        const struct logits logits = look_at(row, classes, lane);
        const float logarithm = logf(logits.sum);
        float loss = 0;
        for (uint32_t c = lane; c < classes; c += WARP)
            loss += soft_weight(&soft, n, c, classes) * (logarithm - (row[c] - logits.largest));
        loss = warp_sum(loss);
        if (lane == 0)
            losses[n] = loss;
    }
}

static __global__ void soft_cross_entropy_back(const float *x, struct soft_targets soft,
                                               float *gradient, bool accumulate,
                                               const struct cuda_iteration *now, float weight,
                                               uint32_t classes, uint32_t images)
{
    const float scale = weight * now->loss_scale;
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const float *row = x + (size_t)n * classes;
        const struct logits logits = look_at(row, classes, lane);
        float total = 0;
        for (uint32_t c = lane; c < classes; c += WARP)
            total += soft_weight(&soft, n, c, classes);
        total = warp_sum(total);
        for (uint32_t c = lane; c < classes; c += WARP) {
            const float probability = expf(row[c] - logits.largest) / logits.sum;
            gradient_store(&gradient[(size_t)n * classes + c], accumulate,
                           scale * (total * probability - soft_weight(&soft, n, c, classes)));
        }
    }
}

static void forward_cross_entropy(const struct kernel_call *call)
{
    if (call->soft_targets) {
        launch(context_of(call), "softmax_cross_entropy forward", soft_cross_entropy,
               stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0],
               soft_targets_of(call), call->output, (uint32_t)call->site->inputs[0].channels,
               (uint32_t)call->site->batch);
        return;
    }
    launch(context_of(call), "softmax_cross_entropy forward", cross_entropy,
           stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0], call->labels,
           call->output, loss_smoothing(call->site), (uint32_t)call->site->inputs[0].channels,
           (uint32_t)call->site->batch);
}

static void backward_cross_entropy(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    if (call->soft_targets) {
        launch(context_of(call), "softmax_cross_entropy backward", soft_cross_entropy_back,
               stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0],
               soft_targets_of(call), call->input_gradients[0], call->accumulate[0],
               context_of(call)->now, loss_weight(call), (uint32_t)call->site->inputs[0].channels,
               (uint32_t)call->site->batch);
        return;
    }
    launch(context_of(call), "softmax_cross_entropy backward", cross_entropy_back,
           stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0], call->labels,
           call->input_gradients[0], call->accumulate[0], context_of(call)->now, loss_weight(call),
           loss_smoothing(call->site), (uint32_t)call->site->inputs[0].channels,
           (uint32_t)call->site->batch);
}

/* --- perceptron: a warp for each image --- */

/* Returns the first class with the largest logit; `classes` if a logit is NaN. All lanes get it. */
static __device__ __forceinline__ uint32_t predicted_class(const float *x, uint32_t classes,
                                                           uint32_t lane)
{
    float largest = x[0], unordered = 0;
    for (uint32_t c = lane; c < classes; c += WARP) {
        largest = fmaxf(largest, x[c]);
        unordered += x[c] != x[c] ? 1.0f : 0.0f;
    }
    largest = warp_max(largest);
    if (warp_sum(unordered) > 0)
        return classes;
    uint32_t first = lane;
    while (first < classes && x[first] != largest)
        first += WARP;
    /* the least of the lanes' classes: float32 holds each of up to 1000000 exactly */
    return (uint32_t)-warp_max(-(float)(first < classes ? first : classes));
}

static __global__ void perceptron(const float *x, const int32_t *labels, float *losses,
                                  uint32_t classes, uint32_t images)
{
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const float *row = x + (size_t)n * classes;
        const uint32_t predicted = predicted_class(row, classes, lane);
        if (lane == 0)
            losses[n] = predicted == classes ? NAN : row[predicted] - row[labels[n]];
    }
}

static __global__ void perceptron_back(const float *x, const int32_t *labels, float *gradient,
                                       bool accumulate, const struct cuda_iteration *now,
                                       float weight, uint32_t classes, uint32_t images)
{
    const float scale = weight * now->loss_scale;
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const uint32_t predicted = predicted_class(x + (size_t)n * classes, classes, lane);
        for (uint32_t c = lane; c < classes; c += WARP) {
            const float step =
                (c == predicted ? 1.0f : 0.0f) - (c == (uint32_t)labels[n] ? 1.0f : 0.0f);
            gradient_store(&gradient[(size_t)n * classes + c], accumulate,
                           predicted == classes ? NAN : scale * step);
        }
    }
}

static void forward_perceptron(const struct kernel_call *call)
{
    launch(context_of(call), "perceptron forward", perceptron,
           stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0], call->labels,
           call->output, (uint32_t)call->site->inputs[0].channels, (uint32_t)call->site->batch);
}

static void backward_perceptron(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    launch(context_of(call), "perceptron backward", perceptron_back,
           stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0], call->labels,
           call->input_gradients[0], call->accumulate[0], context_of(call)->now, loss_weight(call),
           (uint32_t)call->site->inputs[0].channels, (uint32_t)call->site->batch);
}

/* --- distillation: a warp for each image, which does the same with student and teacher --- */

/* The log of the probability of class c is (x[c] - largest) / temperature - log_sum. */
struct log_softmax {
    const float *x;
    float largest, log_sum, temperature;
    __device__ __forceinline__ float at(uint32_t c) const
    {
        return (x[c] - largest) / temperature - log_sum;
    }
};

static __device__ __forceinline__ struct log_softmax
log_softmax_of(const float *x, float temperature, uint32_t classes, uint32_t lane)
{
    struct log_softmax soft = {x, x[0], 0, temperature};
    float sum = 0;
    for (uint32_t c = lane; c < classes; c += WARP)
        soft.largest = fmaxf(soft.largest, x[c]);
    soft.largest = warp_max(soft.largest);
    for (uint32_t c = lane; c < classes; c += WARP)
        sum += expf((x[c] - soft.largest) / temperature);
    soft.log_sum = logf(warp_sum(sum));
    return soft;
}

/* Returns p d - p + q with d = log p - log q: the sum over all classes is that of p d, but no
 * summand is negative. For small d it is p (exp(-d) - 1 + d), from the series. */
static __device__ __forceinline__ float divergence_summand(float p, float q, float d)
{
    float series = 2.4801587302e-5f; /* 1 / 8! */
    series = series * -d + 1.9841269841e-4f;
    series = series * -d + 1.3888888889e-3f;
    series = series * -d + 8.3333333333e-3f;
    series = series * -d + 4.1666666667e-2f;
    series = series * -d + 1.6666666667e-1f;
    series = series * -d + 5.0000000000e-1f;
    return d < 0.5f && d > -0.5f ? p * (series * d * d) : p * d - p + q;
}

/* Returns log p - log q of class c. */
static __device__ __forceinline__ float log_ratio(const struct log_softmax &teacher,
                                                  const struct log_softmax &student, uint32_t c)
{
    return ((teacher.x[c] - teacher.largest) - (student.x[c] - student.largest)) /
               teacher.temperature -
           (teacher.log_sum - student.log_sum);
}

/* Returns KL(teacher || student). All lanes get it. */
static __device__ __forceinline__ float divergence(const struct log_softmax &teacher,
                                                   const struct log_softmax &student,
                                                   uint32_t classes, uint32_t lane)
{
    float sum = 0;
    for (uint32_t c = lane; c < classes; c += WARP)
        sum += divergence_summand(expf(teacher.at(c)), expf(student.at(c)),
                                  log_ratio(teacher, student, c));
    sum = warp_sum(sum);
    return sum < 0 ? 0 : sum;
}

static __global__ void distillation(const float *x, const float *t, float *losses,
                                    float temperature, uint32_t classes, uint32_t images)
{
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const size_t at = (size_t)n * classes;
        const struct log_softmax student = log_softmax_of(x + at, temperature, classes, lane);
        const struct log_softmax teacher = log_softmax_of(t + at, temperature, classes, lane);
        const float kl = divergence(teacher, student, classes, lane);
        if (lane == 0)
            losses[n] = temperature * temperature * kl;
    }
}

/* Subtracts a constant from log p - log q so that it is 0 at a class with the largest p. The
 * gradient p (d - sum of p d) with d = log p - log q does not depend on it, and no large numbers
 * cancel where p is almost 1. */
static __device__ __forceinline__ void subtract_ratio_at_top(struct log_softmax *teacher,
                                                             struct log_softmax *student,
                                                             uint32_t classes, uint32_t lane)
{
    float at_top = -INFINITY;
    for (uint32_t c = lane; c < classes; c += WARP)
        if (teacher->x[c] == teacher->largest)
            at_top = fmaxf(at_top, student->x[c]);
    student->largest = warp_max(at_top);
    student->log_sum = teacher->log_sum = 0;
}

/* The arrays to which the gradients of student and teacher are written; NULL: nowhere. */
struct distillation_gradients {
    float *student, *teacher;
    bool accumulate[2];
};

static __global__ void distillation_back(const float *x, const float *t,
                                         struct distillation_gradients to,
                                         const struct cuda_iteration *now, float weight,
                                         float temperature, uint32_t classes, uint32_t images)
{
    const float scale = weight * now->loss_scale * temperature;
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t n = stride_first() / WARP; n < images; n += stride_step() / WARP) {
        const size_t at = (size_t)n * classes;
        const struct log_softmax student = log_softmax_of(x + at, temperature, classes, lane);
        const struct log_softmax teacher = log_softmax_of(t + at, temperature, classes, lane);
        struct log_softmax top = teacher, base = student;
        subtract_ratio_at_top(&top, &base, classes, lane);
        float mean = 0;
        for (uint32_t c = lane; c < classes; c += WARP)
            mean += expf(teacher.at(c)) * log_ratio(top, base, c);
        mean = warp_sum(mean);
        for (uint32_t c = lane; c < classes; c += WARP) {
            const float p = expf(teacher.at(c)), q = expf(student.at(c));
            if (to.student)
                gradient_store(&to.student[at + c], to.accumulate[0], scale * (q - p));
            if (to.teacher)
                gradient_store(&to.teacher[at + c], to.accumulate[1],
                               scale * p * (log_ratio(top, base, c) - mean));
        }
    }
}

static void forward_distillation(const struct kernel_call *call)
{
    launch(context_of(call), "distillation forward", distillation,
           stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0], call->inputs[1],
           call->output, call->site->node->attributes.loss.temperature,
           (uint32_t)call->site->inputs[0].channels, (uint32_t)call->site->batch);
}

static void backward_distillation(const struct kernel_call *call)
{
    const struct distillation_gradients to = {call->input_gradients[0],
                                              call->input_gradients[1],
                                              {call->accumulate[0], call->accumulate[1]}};
    if (!to.student && !to.teacher)
        return;
    launch(context_of(call), "distillation backward", distillation_back,
           stride_blocks(WARP * call->site->batch), BLOCK, 0, call->inputs[0], call->inputs[1], to,
           context_of(call)->now, loss_weight(call), call->site->node->attributes.loss.temperature,
           (uint32_t)call->site->inputs[0].channels, (uint32_t)call->site->batch);
}

/* --- losses of pairs of values, with the gradients of value x and of target t --- */

struct l1 {
    static __device__ __forceinline__ float loss(float x, float t)
    {
        return fabsf(x - t);
    }
    static __device__ __forceinline__ float gradient(float x, float t)
    {
        return (float)((x > t) - (x < t));
    }
    static __device__ __forceinline__ float target_gradient(float x, float t)
    {
        return -gradient(x, t);
    }
};
struct l2 {
    static __device__ __forceinline__ float loss(float x, float t)
    {
        return (x - t) * (x - t);
    }
    static __device__ __forceinline__ float gradient(float x, float t)
    {
        return 2.0f * (x - t);
    }
    static __device__ __forceinline__ float target_gradient(float x, float t)
    {
        return -gradient(x, t);
    }
};
struct binary_cross_entropy {
    static __device__ __forceinline__ float loss(float x, float t)
    {
        return fmaxf(x, 0) - x * t + log1pf(expf(-fabsf(x)));
    }
    static __device__ __forceinline__ float gradient(float x, float t)
    {
        return 1.0f / (1.0f + expf(-x)) - t;
    }
    static __device__ __forceinline__ float target_gradient(float x, float)
    {
        return -x;
    }
};

/* The targets: an array, or one value for all. */
struct loss_target {
    const float *values; /* NULL: constant */
    float constant;
};

template <class F>
static __global__ void mean_loss(const float *x, struct loss_target target, float *losses,
                                 uint32_t count)
{
    const size_t first = (size_t)blockIdx.x * count;
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
        sum += F::loss(x[first + i], target.values ? target.values[first + i] : target.constant);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        losses[blockIdx.x] = sum / (float)count;
}

struct loss_gradients {
    float *at[2]; /* NULL: not needed. If both are the same, the first is stored first */
    bool accumulate[2];
};

template <class F>
static __global__ void mean_loss_back(const float *x, struct loss_target target,
                                      struct loss_gradients to, const struct cuda_iteration *now,
                                      float weight, uint32_t count)
{
    const float scale = weight * now->loss_scale;
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        const float value = x[i], t = target.values ? target.values[i] : target.constant;
        if (to.at[0])
            gradient_store(&to.at[0][i], to.accumulate[0], scale * F::gradient(value, t));
        if (to.at[1])
            gradient_store(&to.at[1][i], to.accumulate[1], scale * F::target_gradient(value, t));
    }
}

static struct loss_target target_of(const struct kernel_call *call)
{
    const bool pair = call->site->node->input_count > 1;
    return {pair ? call->inputs[1] : NULL, call->site->node->attributes.loss.target};
}

template <class F> static void forward_loss(const struct kernel_call *call, const char *what)
{
    const size_t count = shape_count(call->site->inputs[0]);
    const unsigned threads = count > 8 * BLOCK ? 4u * BLOCK : 1u * BLOCK;
    launch(context_of(call), what, mean_loss<F>, (unsigned)call->site->batch, threads, 0,
           call->inputs[0], target_of(call), call->output, (uint32_t)count);
}

template <class F> static void backward_loss(const struct kernel_call *call, const char *what)
{
    const size_t count = input_values(call, 0);
    const float weight = loss_weight(call) / (float)shape_count(call->site->inputs[0]);
    const bool pair = call->site->node->input_count > 1;
    const struct loss_gradients to = {
        {call->input_gradients[0], pair ? call->input_gradients[1] : NULL},
        {call->accumulate[0], call->accumulate[1]}};
    if (to.at[0] || to.at[1])
        launch(context_of(call), what, mean_loss_back<F>, stride_blocks(count), BLOCK, 0,
               call->inputs[0], target_of(call), to, context_of(call)->now, weight,
               (uint32_t)count);
}

static void forward_l1(const struct kernel_call *call)
{
    forward_loss<l1>(call, "l1_loss forward");
}
static void backward_l1(const struct kernel_call *call)
{
    backward_loss<l1>(call, "l1_loss backward");
}
static void forward_l2(const struct kernel_call *call)
{
    forward_loss<l2>(call, "l2_loss forward");
}
static void backward_l2(const struct kernel_call *call)
{
    backward_loss<l2>(call, "l2_loss backward");
}
static void forward_binary(const struct kernel_call *call)
{
    forward_loss<binary_cross_entropy>(call, "binary_cross_entropy forward");
}
static void backward_binary(const struct kernel_call *call)
{
    backward_loss<binary_cross_entropy>(call, "binary_cross_entropy backward");
}

struct cuda_kernel cuda_softmax_cross_entropy = {
    .op = "softmax_cross_entropy",
    .kernel =
        {
            .name = "softmax_cross_entropy",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT,
            .supports = supports_counts,
            .forward = forward_cross_entropy,
            .backward = backward_cross_entropy,
        },
};
struct cuda_kernel cuda_perceptron = {
    .op = "perceptron",
    .kernel =
        {
            .name = "perceptron",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT,
            .supports = supports_counts,
            .forward = forward_perceptron,
            .backward = backward_perceptron,
        },
};
struct cuda_kernel cuda_binary_cross_entropy = {
    .op = "binary_cross_entropy",
    .kernel =
        {
            .name = "binary_cross_entropy",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT,
            .supports = supports_counts,
            .forward = forward_binary,
            .backward = backward_binary,
        },
};
struct cuda_kernel cuda_l1_loss = {
    .op = "l1_loss",
    .kernel =
        {
            .name = "l1_loss",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT,
            .supports = supports_counts,
            .forward = forward_l1,
            .backward = backward_l1,
        },
};
struct cuda_kernel cuda_l2_loss = {
    .op = "l2_loss",
    .kernel =
        {
            .name = "l2_loss",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT,
            .supports = supports_counts,
            .forward = forward_l2,
            .backward = backward_l2,
        },
};
struct cuda_kernel cuda_distillation = {
    .op = "distillation",
    .kernel =
        {
            .name = "distillation",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT,
            .supports = supports_counts,
            .forward = forward_distillation,
            .backward = backward_distillation,
        },
};
