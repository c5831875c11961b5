/* teacher.h: the teacher of a run: a saved model beside whose logits the run's network is trained
 * (engine/execution/distillation.h).
 *
 * teacher_describe reads what the file says about the network, which is enough for a forecast;
 * teacher_load reads its weights. A run records the file's checksum, so that it is not resumed with
 * another teacher. The settings point into the structure: do not copy it. */
#ifndef TINCA_SESSION_TEACHER_TEACHER_H
#define TINCA_SESSION_TEACHER_TEACHER_H

#include "base/json/json.h"
#include "data/dataset/dataset.h"
#include "engine/execution/distillation.h"
#include "session/config/config.h"
#include "session/model/evaluate.h"

#include <stdint.h>

struct teacher {
    struct model model; /* network, weights, normalisation, names of the classes; no device */
    struct distillation_settings settings;
    size_t *numbers; /* its output for each class of the data; NULL: they are in the same order */
    uint64_t bytes;  /* of the file */
    uint32_t crc32;  /* of its contents */
};

/* Reads the description of the configured teacher. Returns false with an error. */
bool teacher_describe(struct teacher *teacher, const struct run_config *config,
                      struct error *error);

/* Reads the weights of a described teacher, and the checksum of the file. Returns false with an
 * error. */
bool teacher_load(struct teacher *teacher, const struct run_config *config, struct error *error);

void teacher_free(struct teacher *teacher); /* may be {0} */

/* Returns whether the student can learn from the teacher: its loss is softmax_cross_entropy, and
 * both have the same input and number of classes. Returns false with an error that says why not. */
bool teacher_suits(const struct teacher *teacher, const struct network *student,
                   struct error *error);

/* Returns whether the teacher's classes have the names of the data set's; teacher_load puts its
 * outputs into their order. Returns false with an error that names the first that differs. */
bool teacher_knows_classes(struct teacher *teacher, const struct dataset *dataset,
                           struct error *error);

/* Returns whether the teacher was trained on the numbers that `student` makes of a picture;
 * `fixed`: pictures are neither resized nor turned. Returns false with an error that names the
 * setting. */
bool teacher_prepares_alike(const struct teacher *teacher, const struct preprocessing *student,
                            bool fixed, struct error *error);

/* Writes the technique "distill:NAME" with the name of the teacher's network, as a chain of
 * techniques has it (network_compression.h). Returns `step`. */
char *teacher_step(const struct teacher *teacher, char *step, size_t size);

/* Adds the teacher to the tree of data.json: {"name", "bytes", "crc32"}. Returns false if out of
 * memory. */
bool teacher_to_json(const struct teacher *teacher, struct json *tree);

#endif
