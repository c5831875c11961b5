/* distillation.h: a student that is trained beside a teacher (Hinton et al. 2015).
 *
 * The teacher is another network with the same inputs and classes, whose weights do not change. An
 * iteration runs it in inference (batch norm with its running statistics, no dropout) on the batch
 * that the student gets, and then trains the student on
 *
 *     (1 - W) * (the student's own losses) + W * T^2 * KL(softmax(t / T) || softmax(x / T))
 *
 * with the logits t of the teacher and x of the student, the temperature T and the weight W. Label
 * smoothing, soft targets and class weights belong to the student's own losses.
 *
 * The teacher runs on the whole batch at once or, if sums over images are taken in blocks
 * (image_blocks.h), on one block after the other: so its logits do not depend on how many processes
 * share the batch.
 *
 * Teacher and student have a plan each, and one forecast. The student's plan is of a copy of its
 * graph with two more nodes: an input for the teacher's logits ("teacher") and the loss
 * ("distillation"). They have no parameters, so the weights are those of the student's own graph.
 */
#ifndef TINCA_ENGINE_EXECUTION_DISTILLATION_H
#define TINCA_ENGINE_EXECUTION_DISTILLATION_H

#include "base/error.h"
#include "engine/execution/execution.h"
#include "engine/graph/graph.h"
#include "engine/plan/plan.h"

#include <stdint.h>

struct distillation_settings {
    const struct graph *teacher;
    float temperature; /* above 0 */
    float weight;      /* W, in (0, 1] */
};

/* The plans of both networks, and the forecast of both together. */
struct distillation_plan {
    struct graph graph;   /* the student's, with the two nodes */
    struct plan *student; /* of this graph, for training */
    struct plan *teacher; /* for inference, of a block of images */
    struct memory_forecast forecast;
};

/* Builds both plans; settings->distillation describes the teacher, which must outlive them, as the
 * student's graph must. A memory limit applies to both together. Returns false with an error,
 * among others if the networks differ in input or classes, or if several GPUs share the batch. */
bool distillation_plan_build(struct distillation_plan *plan, const struct graph *student,
                             const struct device_driver *driver,
                             const struct plan_settings *settings, struct error *error);
void distillation_plan_free(struct distillation_plan *plan); /* may be {0} */

/* Returns whether a teacher can teach a student: equal inputs, equal numbers of classes, logits at
 * the teacher's end. Returns false with an error that says which of these is wrong. */
bool distillation_check(const struct graph *student, const struct graph *teacher,
                        struct error *error);

/* Returns how many floats distillation_bind needs for the teacher's logits; 0: none, since the
 * teacher runs on the whole batch at once. */
size_t distillation_logits(const struct distillation_plan *plan);

/* Binds a batch for a step of the student: runs the teacher on the images, and gives its logits to
 * the student. The teacher's values and `logits`, of distillation_logits() values, are valid until
 * its next pass. */
void distillation_bind(struct execution *student, struct execution *teacher, float *logits,
                       const struct execution_batch *batch, uint64_t iteration);

/* The parts of the student's loss = (1 - W) * labels + W * teacher. */
struct distillation_losses {
    float labels, teacher;
};

/* Returns the parts after a pass of the student. */
struct distillation_losses distillation_losses(const struct execution *student);

#endif
