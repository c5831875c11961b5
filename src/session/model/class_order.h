/* class_order.h: finds the classes of a data set among those of a model by their names.
 *
 * Folders number their classes in the order of their names as text, so that "10" comes before "2";
 * a model may have them in any other order. Names that are the same number are equal: "2", "02" and
 * "class 2", as a data set calls its class 2 if it has no name for it.
 */
#ifndef TINCA_SESSION_MODEL_CLASS_ORDER_H
#define TINCA_SESSION_MODEL_CLASS_ORDER_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "session/model/evaluate.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Returns whether all names are numbers, whichever. */
bool class_list_has_numbers(const struct class_list *list);

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
