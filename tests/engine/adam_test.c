/* Compares Adam's update on every host device with the formula in double, for the same gradients: a
 * thousand steps, gradients from 1e-12 to 1e3 that keep, change or lose their sign.
 *
 * A whole training is a weaker test. Where two candidates of a maximum are equal within rounding
 * errors, or a ReLU's input is near 0, the gradient jumps, and Adam makes a full step from any
 * gradient, however small: from the first such place on, programs with different rounding diverge
 * (docs/results.md).
 */
#include "base/memory.h"
#include "base/random.h"
#include "engine/devices/device.h"
#include "instruction_sets.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

enum { WEIGHTS = 3001, STEPS = 1000 }; /* not a multiple of a vector's or a task's size */

static const double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

struct exact {
    double weight[WEIGHTS], first[WEIGHTS], second[WEIGHTS];
    double path[WEIGHTS]; /* the sum of the lengths of all steps */
};

struct trial {
    float *weights, *gradients, *first, *second;
};

/* The magnitude of a gradient depends on its weight. A third keep their sign, a third change it at
 * random, and a third fade away. */
static float gradient_at(size_t weight, size_t step, double noise)
{
    const double size = pow(10, -12 + 15.0 * (double)(weight % 101) / 100);
    switch (weight % 3) {
    case 0:
        return (float)(size * (1.5 + 0.1 * noise));
    case 1:
        return (float)(size * noise);
    default:
        return (float)(size * pow(0.98, (double)step));
    }
}

static void step_exactly(struct exact *exact, const float *gradients, size_t step)
{
    const double correction1 = 1 - pow(beta1, (double)step);
    const double correction2 = 1 - pow(beta2, (double)step);
    for (size_t i = 0; i < WEIGHTS; i++) {
        const double gradient = (double)gradients[i];
        exact->first[i] = beta1 * exact->first[i] + (1 - beta1) * gradient;
        exact->second[i] = beta2 * exact->second[i] + (1 - beta2) * gradient * gradient;
        const double moved = rate * (exact->first[i] / correction1) /
                             (sqrt(exact->second[i] / correction2) + epsilon);
        exact->weight[i] -= moved;
        exact->path[i] += fabs(moved);
    }
}

/* Returns the largest error of a weight, relative to the distance that it moved. */
static double departure(const struct exact *exact, const float *weights)
{
    double most = 0;
    for (size_t i = 0; i < WEIGHTS; i++)
        most = fmax(most, fabs((double)weights[i] - exact->weight[i]) / exact->path[i]);
    return most;
}

static double run_steps(struct device *device, struct exact *exact, struct trial *trial)
{
    *exact = (struct exact){{0}, {0}, {0}, {0}};
    struct solver_update update = {
        .settings = {SOLVER_ADAM, (float)beta1, (float)beta2, (float)epsilon, 0, MOMENTUM_CAFFE},
        .learning_rate = (float)rate,
        .count = WEIGHTS,
        .weights = trial->weights,
        .gradients = trial->gradients,
        .state = {trial->first, trial->second}};
    for (size_t i = 0; i < WEIGHTS; i++)
        trial->weights[i] = trial->first[i] = trial->second[i] = 0;
    for (size_t step = 1; step <= STEPS; step++) {
        random_fill_gaussian(1, RANDOM_TEST, (uint32_t)step, 0, 0, 1, trial->gradients, WEIGHTS);
        for (size_t i = 0; i < WEIGHTS; i++)
            trial->gradients[i] = gradient_at(i, step, (double)trial->gradients[i]);
        update.step = step;
        device->driver->update(device, &update);
        step_exactly(exact, trial->gradients, step);
    }
    return departure(exact, trial->weights);
}

static void test_device(const char *name, const char *kernels)
{
    const double limit = 1e-5; /* a thousand steps summed in float32 */
    struct error error;
    struct device *device = device_open(name, 2, &error);
    struct exact *exact = memory_new(1, sizeof *exact, "the exact weights", NULL);
    struct trial trial;
    float **const arrays[] = {&trial.weights, &trial.gradients, &trial.first, &trial.second};
    bool ready = device && exact;
    for (size_t i = 0; i < 4; i++) {
        *arrays[i] = memory_new_aligned(WEIGHTS, sizeof(float), "an array", NULL);
        ready = ready && *arrays[i];
    }
    const double most = ready ? run_steps(device, exact, &trial) : INFINITY;
    tap_ok(most <= limit, "%s %s: adam departs by %.1e of a weight's way after %d steps", name,
           kernels, most, STEPS);
    for (size_t i = 0; i < 4; i++)
        free(*arrays[i]);
    free(exact);
    device_close(device);
}

TEST_CASE(adam_test)
{
    test_device("reference", "");
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            test_device("cpu", instruction_set_name((enum instruction_set)set));
    instruction_set_release();
    return tap_done();
}
