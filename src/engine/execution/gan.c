/* Trains with three executions over two sets of weights. An iteration runs the generator forward;
 * trains the discriminator on the real and then on the fake pairs and adds both gradients
 * (`discriminator_step`); and runs the discriminator once more with frozen weights
 * (`frozen_discriminator`), which gives the gradient of the adversarial loss with respect to the
 * fake image. The generator's backward pass starts with that gradient. A pair is the input and an
 * image, concatenated; only the image's channels of the pair's gradient are used. */
#include "engine/execution/gan.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct gan {
    const struct gan_plan *plan;
    struct device *device;
    struct weights discriminator;
    struct execution *generator, *discriminator_step, *frozen_discriminator;
    size_t input_values, image_values; /* values in one example: its input, its image */
    size_t count;                      /* images of the bound batch */
    /* in device memory: */
    float *pairs;                       /* [batch, input + image] */
    float *real_targets, *fake_targets; /* [batch, outputs of the discriminator] */
    float *gradients; /* gradients from the real pairs, while the fakes are computed */
};

/* --- plans --- */

/* Returns how many outputs the discriminator has for a pair. */
static size_t output_count(const struct network *network)
{
    const struct graph *graph = &network->discriminator;
    return shape_count(graph->nodes[graph->output].output);
}

/* Returns how many floats gan_create allocates besides the executions and the weights. */
static size_t extra_floats(const struct gan_plan *plan)
{
    const struct graph *graph = &plan->network->discriminator;
    return plan->discriminator_step->batch *
               (shape_count(graph->nodes[0].output) + 2 * output_count(plan->network)) +
           graph->learnable_floats;
}

/* Adds up the three memory forecasts. The discriminator's training plan runs twice per iteration
 * (real and fake), so its FLOPs and copies count twice. */
static void add_forecasts(struct gan_plan *plan)
{
    const struct memory_forecast *generator = &plan->generator->forecast;
    const struct memory_forecast *step = &plan->discriminator_step->forecast;
    const struct memory_forecast *frozen = &plan->frozen_discriminator->forecast;
    const uint64_t extra = extra_floats(plan) * sizeof(float);
    struct memory_forecast *sum = &plan->forecast;
    sum->weights = generator->weights + step->weights; /* both discriminators share the weights */
    sum->gradients = generator->gradients + step->gradients;
    sum->solver = generator->solver + step->solver;
    sum->activations = generator->activations + step->activations + frozen->activations + extra;
    sum->workspace = generator->workspace + step->workspace + frozen->workspace;
    sum->total = sum->weights + sum->gradients + sum->solver + sum->activations + sum->workspace;
    sum->unlimited =
        generator->unlimited + step->unlimited + frozen->unlimited - frozen->weights + extra;
    sum->tables = generator->tables + step->tables + frozen->tables;
    sum->flops = generator->flops + 2 * step->flops + frozen->flops;
    sum->flops_again = generator->flops_again + 2 * step->flops_again + frozen->flops_again;
    sum->fallback_nodes = generator->fallback_nodes + step->fallback_nodes;
    sum->fallback_bytes =
        generator->fallback_bytes + 2 * step->fallback_bytes + frozen->fallback_bytes;
}

/* Builds the three plans within limits[] (generator, discriminator_step, frozen_discriminator). */
static bool build_plans(struct gan_plan *plan, const struct network *network,
                        const struct device_driver *driver, const struct plan_settings *settings,
                        const uint64_t limits[3], struct error *error)
{
    struct plan_settings generator = *settings, step = *settings, frozen = *settings;
    *plan = (struct gan_plan){.network = network};
    generator.memory_limit = limits[0];
    step.memory_limit = limits[1];
    frozen.memory_limit = limits[2];
    generator.seeds_output_gradient = true;
    frozen.frozen = frozen.needs_input_gradient = true;
    plan->generator = plan_build(&network->graph, driver, &generator, error);
    if (plan->generator)
        plan->discriminator_step = plan_build(&network->discriminator, driver, &step, error);
    if (plan->discriminator_step)
        plan->frozen_discriminator = plan_build(&network->discriminator, driver, &frozen, error);
    if (!plan->frozen_discriminator) {
        gan_plan_free(plan);
        return false;
    }
    add_forecasts(plan);
    return true;
}

/* --- a limit to the memory of the three plans --- */

/* Returns the largest batch size that fits settings->memory_limit; 0 if none does. */

static size_t largest_batch(const struct network *network, const struct device_driver *driver,
                            const struct plan_settings *settings)
{
    size_t fits = 0, too_large = settings->batch;
    while (too_large - fits > 1) {
        struct plan_settings smaller = *settings;
        struct gan_plan plan;
        smaller.batch = fits + (too_large - fits) / 2;
        if (gan_plan_build(&plan, network, driver, &smaller, NULL))
            fits = smaller.batch;
        else
            too_large = smaller.batch;
        gan_plan_free(&plan);
    }
    return fits;
}

/* Divides the memory beyond the minimum in proportion to how much more each plan could use. */
static void divide_memory(const struct gan_plan *least, uint64_t limit, uint64_t limits[3])
{
    const struct plan *plans[] = {least->generator, least->discriminator_step,
                                  least->frozen_discriminator};
    const double more = (double)(limit - least->forecast.total) /
                        (double)(least->forecast.unlimited - least->forecast.total);
    for (size_t i = 0; i < 3; i++) {
        const struct memory_forecast *forecast = &plans[i]->forecast;
        limits[i] =
            forecast->total + (uint64_t)(more * (double)(forecast->unlimited - forecast->total));
    }
}

static bool build_within(struct gan_plan *plan, const struct network *network,
                         const struct device_driver *driver, const struct plan_settings *settings,
                         struct error *error)
{
    uint64_t limits[3] = {PLAN_LEAST_MEMORY, PLAN_LEAST_MEMORY, PLAN_LEAST_MEMORY};
    if (!build_plans(plan, network, driver, settings, limits, error) ||
        settings->memory_limit == PLAN_LEAST_MEMORY ||
        plan->forecast.total == settings->memory_limit)
        return plan->frozen_discriminator;
    const uint64_t least = plan->forecast.total;
    const bool can = least < settings->memory_limit;
    if (can)
        divide_memory(plan, settings->memory_limit, limits);
    gan_plan_free(plan);
    if (can)
        return build_plans(plan, network, driver, settings, limits, error);
    return error &&
           plan_set_limit_error(settings, least, largest_batch(network, driver, settings), error);
}

bool gan_plan_build(struct gan_plan *plan, const struct network *network,
                    const struct device_driver *driver, const struct plan_settings *settings,
                    struct error *error)
{
    static const uint64_t none[3];
    *plan = (struct gan_plan){.network = network};
    if (settings->ranks > 1)
        return error_set(error, ERROR_UNSUPPORTED, network->name,
                         "choose one, as in cuda:0, and start other runs on the others",
                         "a network with a discriminator trains on one GPU");
    if (!build_plans(plan, network, driver, settings, none, error) || settings->memory_limit == 0 ||
        (settings->memory_limit != PLAN_LEAST_MEMORY &&
         plan->forecast.total <= settings->memory_limit))
        return plan->frozen_discriminator;
    gan_plan_free(plan);
    return build_within(plan, network, driver, settings, error);
}

void gan_plan_free(struct gan_plan *plan)
{
    plan_free(plan->generator);
    plan_free(plan->discriminator_step);
    plan_free(plan->frozen_discriminator);
    *plan = (struct gan_plan){0};
}

/* --- creation --- */

static bool new_floats(struct gan *gan, float **out, size_t count, struct error *error)
{
    *out = gan->device->driver->allocate(gan->device, count * sizeof **out,
                                         "the discriminator's pairs", error);
    return *out;
}

/* Allocates out[0..count) in device memory and sets all its values to `value`. Returns false with
 * an error. */
static bool make_targets(struct gan *gan, float **out, size_t count, float value,
                         struct error *error)
{
    float *values = memory_new_aligned(count, sizeof *values, "the discriminator's pairs", error);
    const bool made = values && new_floats(gan, out, count, error);
    for (size_t i = 0; made && i < count; i++)
        values[i] = value;
    if (made)
        device_copy_in(gan->device, *out, values, count * sizeof *values);
    free(values);
    return made;
}

static bool make_buffers(struct gan *gan, struct error *error)
{
    const struct graph *graph = &gan->plan->network->discriminator;
    const size_t batch = gan->plan->discriminator_step->batch;
    const size_t count = batch * output_count(gan->plan->network);
    return new_floats(gan, &gan->pairs, batch * (gan->input_values + gan->image_values), error) &&
           make_targets(gan, &gan->real_targets, count, 1, error) &&
           make_targets(gan, &gan->fake_targets, count, 0, error) &&
           new_floats(gan, &gan->gradients, graph->learnable_floats, error);
}

static bool make_executions(struct gan *gan, struct weights *generator,
                            const struct solver_settings *solver, uint64_t seed,
                            struct error *error)
{
    const struct gan_plan *plan = gan->plan;
    struct device *device = gan->device;
    if (!weights_create(&gan->discriminator, &plan->network->discriminator, error))
        return false;
    weights_initialise(&gan->discriminator, seed + 1, device->pool);
    gan->generator = execution_create(plan->generator, device, generator, solver, seed, error);
    if (gan->generator)
        gan->discriminator_step = execution_create(plan->discriminator_step, device,
                                                   &gan->discriminator, solver, seed + 1, error);
    if (gan->discriminator_step)
        gan->frozen_discriminator = execution_create(plan->frozen_discriminator, device,
                                                     &gan->discriminator, NULL, seed + 1, error);
    if (!gan->frozen_discriminator)
        return false;
    execution_record_passes(gan->generator);
    execution_record_passes(gan->discriminator_step);
    execution_record_passes(gan->frozen_discriminator);
    return true;
}

struct gan *gan_create(const struct gan_plan *plan, struct device *device,
                       struct weights *generator, const struct solver_settings *solver,
                       uint64_t seed, struct error *error)
{
    const struct graph *graph = &plan->network->graph;
    struct gan *gan = memory_new(1, sizeof *gan, "the discriminator", error);
    if (!gan)
        return NULL;
    gan->plan = plan;
    gan->device = device;
    gan->input_values = shape_count(graph->nodes[0].output);
    gan->image_values = shape_count(graph->nodes[graph->output].output);
    if (make_buffers(gan, error) && make_executions(gan, generator, solver, seed, error))
        return gan;
    gan_free(gan);
    return NULL;
}

void gan_free(struct gan *gan)
{
    if (!gan)
        return;
    execution_free(gan->generator);
    execution_free(gan->discriminator_step);
    execution_free(gan->frozen_discriminator);
    weights_free(&gan->discriminator);
    gan->device->driver->release(gan->device, gan->pairs);
    gan->device->driver->release(gan->device, gan->real_targets);
    gan->device->driver->release(gan->device, gan->fake_targets);
    gan->device->driver->release(gan->device, gan->gradients);
    free(gan);
}

/* --- an iteration --- */

/* Copies `values` floats of each of the batch's images within device memory; the images are
 * to_values and from_values floats apart. */
static void copy_channels(const struct gan *gan, float *to, size_t to_values, const float *from,
                          size_t from_values, size_t values)
{
    device_copy_rows(gan->device, to, to_values * sizeof *to, from, from_values * sizeof *from,
                     values * sizeof *to, gan->count);
}

static void pair_inputs(struct gan *gan, const float *inputs)
{
    copy_channels(gan, gan->pairs, gan->input_values + gan->image_values, inputs, gan->input_values,
                  gan->input_values);
}

bool gan_set_clipping(struct gan *gan, const struct gradient_clipping *clipping,
                      struct error *error)
{
    return execution_set_clipping(gan->generator, clipping, error) &&
           execution_set_clipping(gan->discriminator_step, clipping, error);
}

void gan_set_sums(struct gan *gan, const struct gradient_sums *sums)
{
    execution_set_sums(gan->generator, sums);
    execution_set_sums(gan->discriminator_step, sums);
}

static void pair_images(struct gan *gan, const float *images)
{
    copy_channels(gan, gan->pairs + gan->input_values, gan->input_values + gan->image_values,
                  images, gan->image_values, gan->image_values);
}

/* Runs the discriminator forward on the pairs. Returns its loss against the targets `targets`. */
static float discriminator_loss(const struct gan *gan, struct execution *execution,
                                const float *targets, uint64_t iteration)
{
    struct execution_batch batch = {.images = gan->pairs, .targets = targets, .count = gan->count};
    if (gan->plan->generator->processes > 1) /* they compute in host memory, each its micro-batch */
        execution_bind(execution, &batch);
    else
        execution_bind_device(execution, &batch);
    execution_forward(execution, iteration);
    return execution_loss(execution);
}

/* Trains the discriminator on the real and the fake pairs, in two passes and one solver step.
 * Returns false without a step if the loss is not finite. Leaves the fake pairs in gan->pairs. */
static bool step_discriminator(struct gan *gan, const float *real, uint64_t iteration,
                               float learning_rate, struct gan_losses *losses)
{
    const size_t bytes = gan->plan->network->discriminator.learnable_floats * sizeof(float);
    pair_images(gan, real);
    float real_loss =
        discriminator_loss(gan, gan->discriminator_step, gan->real_targets, iteration);
    execution_backward(gan->discriminator_step);
    device_copy_rows(gan->device, gan->gradients, bytes,
                     execution_device_gradients(gan->discriminator_step), bytes, bytes, 1);
    pair_images(gan, execution_device_output(gan->generator));
    float fake_loss =
        discriminator_loss(gan, gan->discriminator_step, gan->fake_targets, iteration);
    losses->discriminator = 0.5f * (real_loss + fake_loss);
    if (!isfinite(losses->discriminator))
        return false;
    execution_backward(gan->discriminator_step);
    execution_mix_gradients(gan->discriminator_step, gan->gradients, 0.5f);
    execution_update(gan->discriminator_step, learning_rate);
    return true;
}

/* Copies the image's channels of the pairs' gradient to the gradient of the generator's output. */
static void copy_image_gradient(struct gan *gan)
{
    copy_channels(gan, execution_device_output_gradient(gan->generator), gan->image_values,
                  execution_device_input_gradient(gan->frozen_discriminator) + gan->input_values,
                  gan->input_values + gan->image_values, gan->image_values);
}

/* Takes the generator's solver step. gan->pairs must hold the fake pairs. Returns false without a
 * step if the loss is not finite. */
static bool step_generator(struct gan *gan, uint64_t iteration, float learning_rate,
                           struct gan_losses *losses)
{
    execution_set_loss_scale(gan->frozen_discriminator, execution_loss_scale(gan->generator));
    losses->adversarial =
        discriminator_loss(gan, gan->frozen_discriminator, gan->real_targets, iteration);
    losses->generator = losses->adversarial + execution_loss(gan->generator);
    if (!isfinite(losses->generator))
        return false;
    execution_backward(gan->frozen_discriminator);
    copy_image_gradient(gan);
    execution_backward(gan->generator);
    execution_update(gan->generator, learning_rate);
    return true;
}

bool gan_iterate(struct gan *gan, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct gan_losses *losses)
{
    gan->count = batch->count;
    execution_bind(gan->generator, batch);
    const struct execution_batch *on_device = execution_device_batch(gan->generator);
    execution_forward(gan->generator, iteration);
    const float main = execution_main_loss(gan->generator);
    *losses = (struct gan_losses){.generator = NAN, .adversarial = NAN, .main = main};
    pair_inputs(gan, on_device->images);
    return step_discriminator(gan, on_device->targets, iteration, learning_rate, losses) &&
           step_generator(gan, iteration, learning_rate, losses);
}

/* --- access to the parts --- */

struct weights *gan_discriminator(struct gan *gan)
{
    return &gan->discriminator;
}

struct execution *gan_generator_execution(struct gan *gan)
{
    return gan->generator;
}

struct execution *gan_discriminator_execution(struct gan *gan)
{
    return gan->discriminator_step;
}

struct recording_refusals gan_recording_refusals(const struct gan *gan)
{
    const struct execution *const executions[] = {gan->generator, gan->discriminator_step,
                                                  gan->frozen_discriminator};
    struct recording_refusals sum = {0};
    for (size_t i = 0; i < 3; i++) {
        const struct recording_refusals each = execution_recording_refusals(executions[i]);
        recording_refusals_add(&sum, &each);
    }
    return sum;
}

void gan_set_profiles(struct gan *gan, struct profile *generator, struct profile *discriminator)
{
    execution_set_profile(gan->generator, generator);
    execution_set_profile(gan->discriminator_step, discriminator);
    execution_set_profile(gan->frozen_discriminator, discriminator);
}

bool gan_find_first_bad_layer(struct gan *gan, uint64_t iteration, struct bad_layer *layer)
{
    struct bad_layer inner;
    if (execution_find_first_bad_layer(gan->generator, iteration, layer))
        return true;
    if (!execution_find_first_bad_layer(gan->discriminator_step, iteration, &inner))
        return false;
    layer->in_weights = inner.in_weights;
    snprintf(layer->node, sizeof layer->node, "discriminator: %.48s", inner.node);
    return true;
}
