/* The teacher's plan is an ordinary inference plan, so that it has the kernels and fusions of
 * inference, and its arena holds only the values that are in use at once. Its kernels are chosen by
 * fixed rules, not by predictions from this machine's figures: a resumed run has the same bits on a
 * machine that has been measured since.
 *
 * Batches are bound to the student first, because its execution receives them ahead of time; the
 * teacher reads the images where the student has them. */
#include "engine/execution/distillation.h"

#include "engine/cluster/cluster.h"
#include "engine/execution/internal.h"
#include "engine/graph/image_blocks.h"
#include "engine/ops/op.h"

#include <string.h>

static const char teacher_name[] = "teacher", loss_name[] = "distillation";

/* --- checks that teacher and student fit together --- */

static const struct shape *output_of(const struct graph *graph)
{
    return &graph->nodes[graph->output].output;
}

bool distillation_check(const struct graph *student, const struct graph *teacher,
                        struct error *error)
{
    const struct shape own = student->nodes[0].output, other = teacher->nodes[0].output;
    const size_t classes = output_of(student)->channels;
    if (own.channels != other.channels || own.height != other.height || own.width != other.width)
        return error_set(error, ERROR_INPUT, "--teacher",
                         "choose a teacher that was trained on images of this size",
                         "it reads images of %zu x %zu x %zu, and the student %zu x %zu x %zu",
                         other.channels, other.height, other.width, own.channels, own.height,
                         own.width);
    if (shape_area(*output_of(teacher)) != 1 || teacher->nodes[teacher->output].op == &op_softmax)
        return error_set(error, ERROR_INPUT, "--teacher",
                         "choose one that ends with a linear layer, a global pool or a flatten",
                         "it ends with %s, which does not give one logit for each class",
                         teacher->nodes[teacher->output].op->name);
    if (output_of(teacher)->channels != classes)
        return error_set(error, ERROR_INPUT, "--teacher",
                         "choose one that was trained on the student's data set",
                         "it knows %zu classes, and the student %zu", output_of(teacher)->channels,
                         classes);
    return true;
}

/* --- plans --- */

/* Copies the student's graph and adds the teacher's logits and the loss against them. */
static bool add_loss(struct distillation_plan *plan, const struct graph *student,
                     const struct distillation_settings *settings, struct error *error)
{
    struct graph *graph = &plan->graph;
    const union attributes attributes = {
        .loss = {.weight = settings->weight, .temperature = settings->temperature}};
    size_t inputs[2] = {student->output};
    if (!graph_copy(graph, student, error))
        return false;
    for (size_t i = 0; i < graph->loss_count; i++)
        graph->nodes[graph->losses[i]].attributes.loss.weight *= 1 - settings->weight;
    return graph_add_input(graph, teacher_name, *output_of(student), &inputs[1], error) &&
           graph_add(graph, &op_distillation, loss_name, inputs, 2, &attributes, NULL, error);
}

static struct plan *build_teacher(const struct device_driver *driver,
                                  const struct plan_settings *training, struct error *error)
{
    static const struct plan_choices fixed_rules = {0};
    const size_t blocks = training->image_blocks ? training->image_blocks : 1;
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = (training->batch + blocks - 1) / blocks,
                                           .threads = training->threads,
                                           .strict_device = training->strict_device,
                                           .precision = training->precision,
                                           .machine = training->machine,
                                           .choices = &fixed_rules,
                                           .device = training->device,
                                           .device_batches = true,
                                           .only_forecast = training->only_forecast};
    return plan_build(training->distillation->teacher, driver, &settings, error);
}

static void add_forecasts(struct distillation_plan *plan)
{
    const struct memory_forecast *teacher = &plan->teacher->forecast;
    struct memory_forecast *sum = &plan->forecast;
    const uint64_t all = teacher->total + distillation_logits(plan) * sizeof(float);
    *sum = plan->student->forecast;
    sum->teacher = all;
    sum->total += all;
    sum->unlimited += all;
    sum->tables += teacher->tables;
    sum->flops += teacher->flops;
    sum->fallback_nodes += teacher->fallback_nodes;
    sum->fallback_bytes += teacher->fallback_bytes;
}

/* Builds the student's plan, with `limit` as the limit of its own memory. */
static bool build_student(struct distillation_plan *plan, const struct device_driver *driver,
                          const struct plan_settings *settings, uint64_t limit, struct error *error)
{
    struct plan_settings own = *settings;
    own.memory_limit = limit;
    plan->student = plan_build(&plan->graph, driver, &own, error);
    if (plan->student)
        add_forecasts(plan);
    return plan->student;
}

/* Returns the largest batch below settings->batch that fits the memory limit; 0 if none does. */
static size_t largest_batch(const struct graph *student, const struct device_driver *driver,
                            const struct plan_settings *settings)
{
    size_t fits = 0, too_large = settings->batch;
    while (too_large - fits > 1) {
        struct plan_settings smaller = *settings;
        struct distillation_plan plan;
        smaller.batch = fits + (too_large - fits) / 2;
        smaller.only_forecast = true;
        if (distillation_plan_build(&plan, student, driver, &smaller, NULL))
            fits = smaller.batch;
        else
            too_large = smaller.batch;
        distillation_plan_free(&plan);
    }
    return fits;
}

/* Builds the student's plan with the memory that the limit leaves beside the teacher. */
static bool build_within(struct distillation_plan *plan, const struct graph *student,
                         const struct device_driver *driver, const struct plan_settings *settings,
                         struct error *error)
{
    const uint64_t limit = settings->memory_limit, teacher = plan->teacher->forecast.total;
    if (limit == 0 || limit == PLAN_LEAST_MEMORY)
        return build_student(plan, driver, settings, limit, error);
    if (limit > teacher && build_student(plan, driver, settings, limit - teacher, NULL))
        return true;
    if (!error || !build_student(plan, driver, settings, PLAN_LEAST_MEMORY, error))
        return false;
    return plan_set_limit_error(settings, plan->forecast.total,
                                largest_batch(student, driver, settings), error);
}

bool distillation_plan_build(struct distillation_plan *plan, const struct graph *student,
                             const struct device_driver *driver,
                             const struct plan_settings *settings, struct error *error)
{
    *plan = (struct distillation_plan){0};
    const bool built = (settings->ranks <= 1 ||
                        error_set(error, ERROR_UNSUPPORTED, "--teacher",
                                  "choose one, as in cuda:0, and start other runs on the others",
                                  "a student with a teacher trains on one GPU")) &&
                       distillation_check(student, settings->distillation->teacher, error) &&
                       add_loss(plan, student, settings->distillation, error) &&
                       (plan->teacher = build_teacher(driver, settings, error)) &&
                       build_within(plan, student, driver, settings, error);
    if (!built)
        distillation_plan_free(plan);
    return built;
}

void distillation_plan_free(struct distillation_plan *plan)
{
    plan_free(plan->student);
    plan_free(plan->teacher);
    graph_free(&plan->graph);
    *plan = (struct distillation_plan){0};
}

/* --- a step --- */

size_t distillation_logits(const struct distillation_plan *plan)
{
    const struct plan *student = plan->student;
    return student->image_blocks * student->processes > 1
               ? student->batch * shape_count(*output_of(student->graph))
               : 0;
}

/* Runs the teacher on some of the images; `number` distinguishes the passes of all iterations.
 * Returns its logits. */
static const float *teach(struct execution *teacher, const struct execution_batch *bound,
                          struct image_range range, uint64_t number)
{
    const size_t values = shape_count(teacher->plan->graph->nodes[0].output);
    const struct execution_batch images = {.images = bound->images + range.first * values,
                                           .count = range.count};
    execution_bind_device(teacher, &images);
    execution_forward(teacher, number);
    return execution_device_output(teacher);
}

/* Runs the teacher on one block of images after the other, which lie in host memory. */
static void teach_blocks(const struct execution *student, struct execution *teacher, float *logits,
                         const struct execution_batch *bound, uint64_t iteration)
{
    const struct plan *plan = student->plan;
    const size_t classes = shape_count(*output_of(plan->graph)), blocks = plan->image_blocks;
    const size_t before = plan->processes > 1 ? cluster_rank(student->device->cluster) * blocks : 0;
    for (size_t b = 0; b < blocks; b++) {
        const struct image_range range = image_blocks_range(bound->count, blocks, b, 1);
        if (range.count == 0)
            continue;
        const float *output =
            teach(teacher, bound, range, iteration * blocks * plan->processes + before + b);
        memcpy(logits + range.first * classes, output, range.count * classes * sizeof *logits);
    }
}

void distillation_bind(struct execution *student, struct execution *teacher, float *logits,
                       const struct execution_batch *batch, uint64_t iteration)
{
    execution_bind(student, batch);
    struct execution_batch bound = *execution_device_batch(student);
    if (logits)
        teach_blocks(student, teacher, logits, &bound, iteration);
    bound.targets =
        logits ? logits : teach(teacher, &bound, (struct image_range){0, bound.count}, iteration);
    execution_bind_device(student, &bound);
}

struct distillation_losses distillation_losses(const struct execution *student)
{
    const struct graph *graph = student->plan->graph;
    const size_t last = graph->loss_count - 1; /* the loss against the teacher */
    const float share = 1 - graph->nodes[graph->losses[last]].attributes.loss.weight;
    struct distillation_losses parts = {execution_loss_of(student, 0),
                                        execution_loss_of(student, last)};
    for (size_t i = 1; i < last && share > 0; i++)
        parts.labels += graph->nodes[graph->losses[i]].attributes.loss.weight / share *
                        execution_loss_of(student, i);
    return parts;
}
