/* Compares the names of classes if files give them: folders and lists number the classes in the
 * order of their names, and another folder would shift the numbers. The names of a list are sorted,
 * and each class of a set is looked up. */
#include "models/saved/class_match.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the order --- */

static const char *name_in_model(const void *owner, size_t number)
{
    return ((const struct model *)owner)->class_names[number];
}

static const char *name_in_set(const void *owner, size_t number)
{
    return dataset_class_name(owner, number);
}

struct class_list class_list_of_model(const struct model *model)
{
    return (struct class_list){model->network->classes, name_in_model, model};
}

struct class_list class_list_of_set(const struct dataset *dataset)
{
    return (struct class_list){dataset_facts(dataset)->classes, name_in_set, dataset};
}

/* A name as it is compared: as long as a model keeps it, or the digits of a number. */
struct key {
    char text[sizeof *((struct model *)0)->class_names];
    size_t number; /* in the list */
};

static void make_key(const char *name, struct key *key)
{
    static const char word[] = "class ";
    const char *digits = strncmp(name, word, sizeof word - 1) == 0 ? name + sizeof word - 1 : name;
    if (digits[0] && digits[strspn(digits, "0123456789")] == '\0') {
        name = digits + strspn(digits, "0");
        name -= name[0] == '\0';
    }
    snprintf(key->text, sizeof key->text, "%s", name);
}

bool class_list_is_numbered(const struct class_list *list)
{
    char number[32];
    struct key key;
    for (size_t i = 0; i < list->count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        make_key(list->name(list->owner, i), &key);
        if (strcmp(key.text, number) != 0)
            return false;
    }
    return true;
}

/* Returns whether all names are numbers. */
static bool class_list_has_numbers(const struct class_list *list)
{
    struct key key;
    for (size_t i = 0; i < list->count; i++) {
        make_key(list->name(list->owner, i), &key);
        if (key.text[strspn(key.text, "0123456789")])
            return false;
    }
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* Fills the sorted keys of the list. Returns whether all differ. */
static bool sort_keys(const struct class_list *list, struct key *keys)
{
    for (size_t i = 0; i < list->count; i++) {
        make_key(list->name(list->owner, i), &keys[i]);
        keys[i].number = i;
    }
    qsort(keys, list->count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < list->count; i++)
        if (compare_keys(&keys[i - 1], &keys[i]) == 0)
            return false;
    return true;
}

/* Fills the numbers of the set's classes. Returns false if a name is not among the keys or occurs
 * twice. */
static bool number_classes(const struct dataset *dataset, const struct key *keys, bool *taken,
                           size_t *numbers)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    size_t next = 0;
    for (size_t i = 0; i < facts->classes_own; i++) {
        struct key wanted;
        make_key(dataset_class_name(dataset, i), &wanted);
        const struct key *found =
            bsearch(&wanted, keys, facts->classes, sizeof *keys, compare_keys);
        if (!found || taken[found->number])
            return false;
        taken[found->number] = true;
        numbers[i] = found->number;
    }
    for (size_t i = facts->classes_own; i < facts->classes; i++) {
        while (taken[next])
            next++;
        numbers[i] = next++;
    }
    return true;
}

bool class_order_find(const struct class_list *list, const struct dataset *dataset,
                      enum class_order *order, size_t **numbers, struct error *error)
{
    const size_t count = dataset_facts(dataset)->classes;
    *order = CLASS_ORDER_UNKNOWN;
    *numbers = NULL;
    if (list->count != count || count == 0)
        return true;
    struct key *keys = memory_new(count, sizeof *keys, "class names", error);
    bool *taken = memory_new(count, sizeof *taken, "class names", error);
    size_t *found = memory_new(count, sizeof *found, "class names", error);
    const bool made = keys && taken && found;
    if (made && sort_keys(list, keys) && number_classes(dataset, keys, taken, found)) {
        *order = CLASS_ORDER_SAME;
        for (size_t i = 0; i < count; i++)
            if (found[i] != i)
                *order = CLASS_ORDER_OTHER;
    }
    if (*order == CLASS_ORDER_OTHER)
        *numbers = found;
    else
        free(found);
    free(taken);
    free(keys);
    return made;
}

/* --- outputs and classes --- */

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

/* Returns whether folders or a list give the classes their names. */
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
