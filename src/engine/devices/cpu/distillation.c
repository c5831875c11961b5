/* The loss distillation (formulas in ops/distillation.c). A task is one image; its vectors run
 * along the classes. */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

#include <math.h>

/* The log of the probability of class c is (logits[c] - largest) * inverse - log_sum. */
struct log_softmax {
    const float *logits;
    float largest, log_sum, inverse;
};

static struct log_softmax log_softmax_of(const float *logits, size_t classes, float inverse)
{
    float largest = logits[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (size_t c = 0; c < classes; c++)
        largest = logits[c] > largest ? logits[c] : largest;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < classes; c++)
        sum += fast_exp((logits[c] - largest) * inverse);
    return (struct log_softmax){logits, largest, logf(sum), inverse};
}

static inline float log_probability(struct log_softmax soft, size_t c)
{
    return (soft.logits[c] - soft.largest) * soft.inverse - soft.log_sum;
}

/* Returns log p - log q of class c; the differences of the logits are exact where it is small. */
static inline float log_ratio(struct log_softmax teacher, struct log_softmax student, size_t c)
{
    return ((teacher.logits[c] - teacher.largest) - (student.logits[c] - student.largest)) *
               teacher.inverse -
           (teacher.log_sum - student.log_sum);
}

/* Returns p d - p + q with d = log p - log q: the sum over all classes is that of p d, because p
 * and q have the sum 1, but no summand is negative and none cancels another. For small d it is
 * p (exp(-d) - 1 + d), whose series begins with d^2 / 2. */
static inline float summand(float p, float q, float d)
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

/* Returns KL(p || q); NaN stays. */
static float divergence(struct log_softmax teacher, struct log_softmax student, size_t classes)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < classes; c++)
        sum += summand(fast_exp(log_probability(teacher, c)), fast_exp(log_probability(student, c)),
                       log_ratio(teacher, student, c));
    return sum < 0 ? 0 : sum;
}

static void forward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float temperature = call->site->node->attributes.loss.temperature;
    const struct log_softmax student = log_softmax_of(call->inputs[0] + n * classes, classes,
                                                      1 / temperature),
                             teacher = log_softmax_of(call->inputs[1] + n * classes, classes,
                                                      1 / temperature);
    call->output[n] = temperature * temperature * divergence(teacher, student, classes);
}

/* Writes the gradient of the student's logits of an image, or adds to it. */
static void write_student(struct log_softmax teacher, struct log_softmax student, float scale,
                          float *to, size_t classes, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t c = 0; c < classes; c++)
            to[c] += scale * (fast_exp(log_probability(student, c)) -
                              fast_exp(log_probability(teacher, c)));
    } else {
#pragma omp simd
        for (size_t c = 0; c < classes; c++)
            to[c] = scale *
                    (fast_exp(log_probability(student, c)) - fast_exp(log_probability(teacher, c)));
    }
}

/* Returns the student's logit of a class that is the teacher's most probable one. */
static float student_at_top(struct log_softmax teacher, struct log_softmax student, size_t classes)
{
    float at_top = -INFINITY;
    for (size_t c = 0; c < classes; c++)
        if (teacher.logits[c] == teacher.largest && student.logits[c] > at_top)
            at_top = student.logits[c];
    return at_top;
}

/* Does the same for the teacher's logits. The gradient p (d - sum of p d) with d = log p - log q
 * stays the same when a constant is subtracted from d: with d = 0 at the class with the largest p,
 * no large numbers cancel where p is almost 1. */
static void write_teacher(struct log_softmax teacher, struct log_softmax student, float scale,
                          float *to, size_t classes, bool accumulate)
{
    const struct log_softmax base = {student.logits, student_at_top(teacher, student, classes), 0,
                                     student.inverse};
    const struct log_softmax top = {teacher.logits, teacher.largest, 0, teacher.inverse};
    float mean = 0;
    for (size_t c = 0; c < classes; c++)
        mean += fast_exp(log_probability(teacher, c)) * log_ratio(top, base, c);
    for (size_t c = 0; c < classes; c++) {
        const float p = fast_exp(log_probability(teacher, c));
        const float gradient = scale * p * (log_ratio(top, base, c) - mean);
        to[c] = accumulate ? to[c] + gradient : gradient;
    }
}

static void backward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float temperature = call->site->node->attributes.loss.temperature;
    const float scale = loss_scale(call) * temperature;
    const struct log_softmax student = log_softmax_of(call->inputs[0] + n * classes, classes,
                                                      1 / temperature),
                             teacher = log_softmax_of(call->inputs[1] + n * classes, classes,
                                                      1 / temperature);
    if (call->input_gradients[0])
        write_student(teacher, student, scale, call->input_gradients[0] + n * classes, classes,
                      call->accumulate[0]);
    if (call->input_gradients[1])
        write_teacher(teacher, student, scale, call->input_gradients[1] + n * classes, classes,
                      call->accumulate[1]);
}

static void distillation_forward(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch, forward_task, call);
}

static void distillation_backward(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch, backward_task, call);
}

const struct kernel KERNEL(distillation) = {
    .name = "distillation simd",
    .instruction_set = ISA_NAME,
    .op = &op_distillation,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = distillation_forward,
    .backward = distillation_backward,
};
