/* class_match.h: compares the classes of a network with those of a data set.
 *
 * A label is the number of an output, so both must mean the same class by it. All code that trains,
 * validates, evaluates, calibrates or teaches with a set calls one of these functions first; the
 * number of the outputs is network->classes (class_outputs.h).
 */
#ifndef TINCA_MODELS_SAVED_CLASS_MATCH_H
#define TINCA_MODELS_SAVED_CLASS_MATCH_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "models/saved/evaluate.h"

#include <stdbool.h>
#include <stddef.h>

/* Checks that the set has images, and that it has pairs if the network makes pictures, or else
 * labels that are all outputs of the network. */
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

/* Does the same without numbering the set anew: *numbers, which the caller frees, is then the
 * model's number of each class of the set; NULL: they are the same. */
bool class_match_teacher(struct model *model, const struct dataset *dataset, size_t **numbers,
                         struct error *error);

/* --- the order --- */

/* The classes of a data set are found among those of a model by their names. Folders number their
 * classes in the order of their names as text, so that "10" comes before "2"; a model may have them
 * in any other order. Names that are the same number are equal: "2", "02" and "class 2", as a data
 * set calls its class 2 if it has no name for it. */

/* Numbered classes with their names. */
struct class_list {
    size_t count;
    const char *(*name)(const void *owner, size_t number);
    const void *owner; /* borrowed */
};

struct class_list class_list_of_model(const struct model *model);
struct class_list class_list_of_set(const struct dataset *dataset);

/* Returns whether the classes have no names but their numbers, as those of a file that another
 * program wrote. */
bool class_list_is_numbered(const struct class_list *list);

enum class_order {
    CLASS_ORDER_SAME,   /* each class of the set has the number of its name in the list */
    CLASS_ORDER_OTHER,  /* the list has all names, but some with other numbers */
    CLASS_ORDER_UNKNOWN /* the numbers of classes differ, or a name is not in the list, or twice */
};

/* Compares the set's classes with a list of as many. Classes that only the option `classes` adds
 * have no names: they take the numbers that are left, in order. Sets *numbers, which the caller
 * frees, to the number of each class of the set in the list if the order is another one, else to
 * NULL. Returns false with an error if out of memory. */
bool class_order_find(const struct class_list *list, const struct dataset *dataset,
                      enum class_order *order, size_t **numbers, struct error *error);

#endif
