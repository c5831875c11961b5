/* The names of the list are sorted, and each class of the set is looked up. */
#include "session/model/class_order.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool class_list_has_numbers(const struct class_list *list)
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
