/* Names are compared where files give them: folders and lists number the classes in the order of
 * their names, and another folder would shift the numbers. */
#include "session/model/class_match.h"

#include "base/language.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "session/model/class_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refuses labels, or pictures as targets, for outputs that are probabilities of something else. */
static bool refuse_probabilities(const struct network *network, const char *kept, const char *spec,
                                 struct error *error)
{
    return error_set(error, ERROR_INPUT, spec,
                     "write its outputs with tinca predict --raw, or give its network file other "
                     "last layers",
                     "%s ends in a %s whose values are neither a picture nor classes of which an "
                     "image has one",
                     network->name, kept);
}

bool class_match_labels(const struct network *network, const struct dataset *dataset,
                        struct error *error)
{
    const struct op *kept = graph_main_probabilities(&network->graph);
    const struct dataset_facts *facts = dataset_facts(dataset);
    if (facts->images == 0)
        return error_set(error, ERROR_INPUT, facts->spec, "choose another data set",
                         "it holds no images");
    if (kept)
        return refuse_probabilities(network, kept->name, facts->spec, error);
    if (facts->paired != (network->classes == 0))
        return error_set(error, ERROR_INPUT, facts->spec, "choose another network or data set",
                         facts->paired
                             ? "its examples are pairs of pictures, but %s predicts classes"
                             : "its examples have labels, but %s makes pictures",
                         network->name);
    return !network->classes || facts->classes <= network->classes ||
           error_set(error, ERROR_INPUT, facts->spec, "choose a set with the same classes",
                     "it has %zu classes, but %s only predicts %zu", facts->classes, network->name,
                     network->classes);
}

bool class_match_outputs(const struct network *network, size_t classes, const char *spec,
                         struct error *error)
{
    const size_t outputs = network->classes;
    char advice[192] = N_("make the output layers anew with --reset-classes");
    if (outputs == 0 || classes == outputs)
        return true;
    if (classes < outputs)
        snprintf(advice, sizeof advice,
                 _("make the output layers anew with --reset-classes, or keep them by adding "
                   "classes=%zu to the data"),
                 outputs);
    return error_set(error, ERROR_INPUT, spec, advice, "it has %zu classes, but %s has %zu outputs",
                     classes, network->name, outputs);
}

bool class_match_training(const struct network *network, const struct dataset *dataset,
                          struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    return (facts->paired || class_match_outputs(network, facts->classes, facts->spec, error)) &&
           class_match_labels(network, dataset, error);
}

/* Returns whether the classes have the names of folders, or those that a list gives. */
static bool named_by_files(const struct dataset *dataset)
{
    const char *kind = dataset_facts(dataset)->kind;
    return strcmp(kind, "folder") == 0 || strcmp(kind, "list") == 0;
}

/* Gives the set the numbers that its classes have in the list, if the list has all of them. Sets
 * *known to whether it has. */
static bool number_as(const struct class_list *list, struct dataset *dataset, bool *known,
                      struct error *error)
{
    enum class_order order;
    size_t *numbers;
    const bool done = class_order_find(list, dataset, &order, &numbers, error) &&
                      (!numbers || dataset_number_classes(dataset, numbers, error));
    free(numbers);
    *known = order != CLASS_ORDER_UNKNOWN;
    return done;
}

bool class_match_sets(const struct dataset *training, struct dataset *other, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(other);
    const size_t known = dataset_facts(training)->classes;
    const struct class_list list = class_list_of_set(training);
    bool same = false;
    if (facts->paired)
        return true;
    if (!number_as(&list, other, &same, error))
        return false;
    if (same)
        return true;
    if (facts->classes > known)
        return error_set(error, ERROR_INPUT, facts->spec, "give both sets the same classes",
                         "it has %zu classes, but the training set has %zu", facts->classes, known);
    for (size_t i = 0; named_by_files(training) && named_by_files(other) && i < facts->classes; i++)
        if (strcmp(dataset_class_name(training, i), dataset_class_name(other, i)) != 0)
            return error_set(error, ERROR_INPUT, facts->spec, "give both sets the same folders",
                             "its class %zu is %s, but that of the training set is %s", i,
                             dataset_class_name(other, i), dataset_class_name(training, i));
    return true;
}

/* Returns the number of the set's first class that has another name than the model's; as many as
 * the set has if there is none. */
static size_t first_other(const struct model *model, const struct dataset *dataset)
{
    const size_t count = dataset_facts(dataset)->classes;
    size_t i = 0;
    while (i < count && strncmp(dataset_class_name(dataset, i), model->class_names[i],
                                sizeof model->class_names[i] - 1) == 0)
        i++;
    return i;
}

static void take_names(struct model *model, const struct dataset *dataset, bool known)
{
    const struct class_list list = class_list_of_set(dataset);
    model->other_numbers = !known && class_list_has_numbers(&list);
    for (size_t i = 0; i < model->network->classes; i++)
        snprintf(model->class_names[i], sizeof model->class_names[i], "%s",
                 dataset_class_name(dataset, i));
}

/* Compares the names of classes; `known`: the model has all of them. */
static bool compare_names(struct model *model, const struct dataset *dataset, bool known,
                          struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    const struct class_list list = class_list_of_model(model);
    const size_t outputs = model->network->classes;
    const size_t other = first_other(model, dataset);
    const bool same = known || other == facts->classes, numbers = class_list_is_numbered(&list);
    if (numbers && facts->classes == outputs) {
        take_names(model, dataset, known);
        return true;
    }
    if (same || (facts->classes == outputs && !numbers && !named_by_files(dataset)))
        return true;
    if (numbers || !named_by_files(dataset)) {
        char advice[128];
        snprintf(advice, sizeof advice,
                 _("add classes=%zu to the data if its classes are the first of the model"),
                 outputs);
        return error_set(error, ERROR_INPUT, facts->spec, advice,
                         "it has %zu classes, but %s predicts %zu", facts->classes,
                         model->network->name, outputs);
    }
    return error_set(error, ERROR_INPUT, facts->spec,
                     "give it the same folders that the model was trained on",
                     "its class %zu is %s, but the model's is %s", other,
                     dataset_class_name(dataset, other), model->class_names[other]);
}

bool class_match_model(struct model *model, struct dataset *dataset, struct error *error)
{
    const struct class_list list = class_list_of_model(model);
    bool known = false;
    return class_match_labels(model->network, dataset, error) &&
           (model->network->classes == 0 || (number_as(&list, dataset, &known, error) &&
                                             compare_names(model, dataset, known, error)));
}

bool class_match_teacher(struct model *model, const struct dataset *dataset, size_t **numbers,
                         struct error *error)
{
    const struct class_list list = class_list_of_model(model);
    enum class_order order;
    *numbers = NULL;
    return class_match_labels(model->network, dataset, error) &&
           (model->network->classes == 0 ||
            (class_order_find(&list, dataset, &order, numbers, error) &&
             (*numbers || compare_names(model, dataset, order != CLASS_ORDER_UNKNOWN, error))));
}
