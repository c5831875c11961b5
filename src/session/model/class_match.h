/* class_match.h: compares the classes of a network with those of a data set.
 *
 * A label is the number of an output, so both must mean the same class by it. Whatever trains,
 * validates, evaluates, calibrates or teaches with a set calls one of these functions first; the
 * number of the outputs is network->classes (class_outputs.h).
 */
#ifndef TINCA_SESSION_MODEL_CLASS_MATCH_H
#define TINCA_SESSION_MODEL_CLASS_MATCH_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "session/model/evaluate.h"

#include <stdbool.h>

/* Checks that the set has images, and pairs for a network that makes pictures or labels that are
 * all outputs of the network. */
bool class_match_labels(const struct network *network, const struct dataset *dataset,
                        struct error *error);

/* Checks that the network has an output for each of `classes` classes of the set `spec` and no
 * other ones. A network that makes pictures has none. */
bool class_match_outputs(const struct network *network, size_t classes, const char *spec,
                         struct error *error);

/* Checks both: the set can train the network. */
bool class_match_training(const struct network *network, const struct dataset *dataset,
                          struct error *error);

/* Checks that a second set has the classes of the training set, or the first of them. If only their
 * order differs, the second set is numbered as the training set. */
bool class_match_sets(const struct dataset *training, struct dataset *other, struct error *error);

/* Checks that the set has the classes of the model, or the first of them. If only their order
 * differs, the set is numbered as the model. A model whose classes have only numbers takes the
 * names of a set with as many classes. */
bool class_match_model(struct model *model, struct dataset *dataset, struct error *error);

/* Does the same for a set that is not to be numbered anew: *numbers, which the caller frees, is
 * then the model's number of each class of the set; NULL: they are the same. */
bool class_match_teacher(struct model *model, const struct dataset *dataset, size_t **numbers,
                         struct error *error);

#endif
