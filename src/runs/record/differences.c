/* Differences between two descriptions: of networks, and of data sets.
 *
 * Networks list their layers in the order of execution. Layers are compared in pairs as long as the
 * names agree; after that they are searched by name. Lists of files, folders and parts of a set are
 * sorted by name and merged, which distinguishes an entry that is missing or new from one that has
 * changed. */
#include "runs/record/differences.h"

#include "base/character.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/images/spec_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- their text --- */

/* Adds a difference, formatted as by printf; `format` is translated here (mark it with N_). */
static void differences_add(struct differences *differences, const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(differences->text), room = sizeof differences->text - used;
    if (differences->count++ >= DIFFERENCES_WORDED)
        return;
    const size_t joint = (size_t)snprintf(differences->text + used, room, "%s", used ? "; " : "");
    if (joint >= room)
        return;
    va_start(arguments, format);
    vsnprintf(differences->text + used + joint, room - joint, language_text(format), arguments);
    va_end(arguments);
    character_replace_hidden(differences->text);
}

char *differences_words(const struct differences *differences, char *words, size_t size)
{
    const size_t others =
        differences->count > DIFFERENCES_WORDED ? differences->count - DIFFERENCES_WORDED : 0;
    if (others)
        snprintf(words, size, ngettext("%s; and %zu more", "%s; and %zu more", others),
                 differences->text, others);
    else
        snprintf(words, size, "%s", differences->text);
    return words;
}

bool differences_same(const struct json *a, const struct json *b)
{
    char *first = a ? json_print(a, false, NULL) : NULL;
    char *second = b ? json_print(b, false, NULL) : NULL;
    const bool same = first && second ? strcmp(first, second) == 0 : !a && !b;
    free(first);
    free(second);
    return same;
}

const char *differences_value(const struct json *value, char *text)
{
    const char *string = json_string(value);
    char *printed = string || !value ? NULL : json_print(value, false, NULL);
    snprintf(text, DIFFERENCES_VALUE, "%.90s", string ? string : printed ? printed : _("none"));
    free(printed);
    return text;
}

/* --- networks --- */

static void compare_setting(const char *where, const char *key, const struct json *then,
                            const struct json *now, struct differences *differences)
{
    char before[DIFFERENCES_VALUE], after[DIFFERENCES_VALUE];
    if (differences_same(then, now))
        return;
    if (then && now)
        differences_add(differences, N_("%s: %s was %s, is %s"), where, key,
                        differences_value(then, before), differences_value(now, after));
    else if (then)
        differences_add(differences, N_("%s: %s was %s, and is not given now"), where, key,
                        differences_value(then, before));
    else
        differences_add(differences, N_("%s: %s was not given, and is %s"), where, key,
                        differences_value(now, after));
}

static void compare_settings(const char *where, const struct json *then, const struct json *now,
                             struct differences *differences)
{
    for (const struct json *member = json_first_member(then); member; member = json_next(member))
        compare_setting(where, json_key(member), member, json_member(now, json_key(member)),
                        differences);
    for (const struct json *member = json_first_member(now); member; member = json_next(member))
        if (!json_member(then, json_key(member)))
            compare_setting(where, json_key(member), NULL, member, differences);
}

static const char *name_of(const struct json *layer)
{
    const char *name = json_string(json_member(layer, "name"));
    return name ? name : "";
}

static const struct json *find_layer(const struct json *layers, const char *name)
{
    for (const struct json *layer = json_first(layers); layer; layer = json_next(layer))
        if (strcmp(name_of(layer), name) == 0)
            return layer;
    return NULL;
}

static void compare_layer(const char *format, const struct json *then, const struct json *now,
                          struct differences *differences)
{
    char where[160];
    snprintf(where, sizeof where, language_text(format), name_of(then));
    compare_settings(where, then, now, differences);
}

/* Compares the layers at the beginning whose names agree, and returns their number; *then and *now
 * become the first layers whose names differ. */
static void compare_beginning(const char *format, const struct json **then, const struct json **now,
                              struct differences *differences)
{
    while (*then && *now && strcmp(name_of(*then), name_of(*now)) == 0) {
        compare_layer(format, *then, *now, differences);
        *then = json_next(*then);
        *now = json_next(*now);
    }
}

static void compare_layers(const char *format, const struct json *layers_then,
                           const struct json *layers_now, struct differences *differences)
{
    char where[160];
    const size_t before = differences->count;
    const struct json *then = json_first(layers_then), *now = json_first(layers_now);
    compare_beginning(format, &then, &now, differences);
    const bool reordered = then && now;
    for (const struct json *layer = then; layer; layer = json_next(layer)) {
        const struct json *found = find_layer(layers_now, name_of(layer));
        snprintf(where, sizeof where, language_text(format), name_of(layer));
        if (found)
            compare_layer(format, layer, found, differences);
        else
            differences_add(differences, N_("%s is missing"), where);
    }
    for (const struct json *layer = now; layer; layer = json_next(layer)) {
        snprintf(where, sizeof where, language_text(format), name_of(layer));
        if (!find_layer(layers_then, name_of(layer)))
            differences_add(differences, N_("%s is new"), where);
    }
    snprintf(where, sizeof where, language_text(format), name_of(then));
    if (reordered && differences->count == before)
        differences_add(differences, N_("%s is at another position"), where);
}

/* --- the whole --- */

/* Returns a copy of a tree whose output layers have the number of classes in place of the word: an
 * earlier version wrote that number. NULL if memory runs out. */
static struct json *with_numbers(const struct json *tree)
{
    struct json *copy = json_copy(tree);
    size_t classes;
    if (!copy || !json_count(json_member(copy, "classes"), &classes))
        return copy;
    for (const struct json *layer = json_first(json_member(copy, "layers")); layer;
         layer = json_next(layer)) {
        const char *word = json_string(json_member(layer, "output"));
        if (!word || strcmp(word, "classes") != 0)
            continue;
        json_remove((struct json *)layer, "output"); /* a part of the copy */
        json_add_count((struct json *)layer, "output", classes);
    }
    return copy;
}

static void compare_trees(const struct json *then, const struct json *now,
                          struct differences *differences)
{
    static const char *const keys[] = {"input", "classes", "loss"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        compare_setting(_("network"), keys[i], json_member(then, keys[i]),
                        json_member(now, keys[i]), differences);
    compare_layers(N_("layer %s"), json_member(then, "layers"), json_member(now, "layers"),
                   differences);
    compare_layers(N_("discriminator's layer %s"),
                   json_member(json_member(then, "discriminator"), "layers"),
                   json_member(json_member(now, "discriminator"), "layers"), differences);
}

void network_difference(const struct json *then, const struct json *now,
                        struct differences *differences)
{
    struct json *before = with_numbers(then), *after = with_numbers(now);
    compare_trees(before ? before : then, after ? after : now, differences);
    json_free(before);
    json_free(after);
}

/* --- data sets --- */

enum { FIELDS = 3 };

static void compare_member(const char *name, const char *key, const struct json *then,
                           const struct json *now, struct differences *differences)
{
    char before[DIFFERENCES_VALUE], after[DIFFERENCES_VALUE];
    const struct json *first = json_member(then, key), *second = json_member(now, key);
    if (!differences_same(first, second))
        differences_add(differences, N_("%s: %s then, %s now"), language_text(name),
                        differences_value(first, before), differences_value(second, after));
}

/* Returns what follows the path in a SPEC. In a generated set it chooses the images. */
static const char *options_of(const struct json *set)
{
    const char *spec = json_string(json_member(set, "spec"));
    return spec ? spec + spec_head_length(spec) : "";
}

static void compare_facts(const struct json *then, const struct json *now,
                          struct differences *differences)
{
    static const struct {
        const char *key, *name;
    } members[] = {{"kind", N_("kind of set")},
                   {"generator", N_("version of the generated pictures")},
                   {"images", N_("images")},
                   {"part", N_("part of the set")},
                   {"direction", N_("direction of the pairs")},
                   {"image", N_("channels, height and width of an example")},
                   {"stored", N_("height and width before the crop")},
                   {"augment", N_("augmentation")},
                   {"class_weights", N_("class weights")},
                   {"pad", N_("pixels around a random crop")},
                   {"preprocessing", N_("preprocessing")},
                   {"normalisation", N_("normalisation")}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        compare_member(members[i].name, members[i].key, then, now, differences);
    if (json_member(then, "generator") && strcmp(options_of(then), options_of(now)) != 0)
        compare_member(N_("data set"), "spec", then, now, differences);
}

static void compare_classes(const struct json *then, const struct json *now,
                            struct differences *differences)
{
    const struct json *classes_then = json_member(then, "classes");
    const struct json *classes_now = json_member(now, "classes");
    const size_t before = json_length(classes_then), after = json_length(classes_now);
    const struct json *a = json_first(classes_then), *b = json_first(classes_now);
    if (before != after)
        differences_add(differences, N_("classes: %zu then, %zu now"), before, after);
    for (size_t i = 0; a && b; i++, a = json_next(a), b = json_next(b)) {
        const char *first = json_string(a), *second = json_string(b);
        if (first && second && strcmp(first, second) != 0) {
            differences_add(differences, N_("class %zu: %.60s then, %.60s now"), i, first, second);
            return; /* the following classes have moved with it */
        }
    }
}

/* --- lists --- */

/* A row of a list: a name and its values. */
struct row {
    const char *name;
    const struct json *fields[FIELDS];
};

struct rows {
    struct row *row;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static bool read_rows(const struct json *list, struct rows *rows, struct error *error)
{
    rows->count = 0;
    rows->row = memory_new(json_length(list) + 1, sizeof *rows->row, "the data's files", error);
    for (const struct json *item = json_first(list); rows->row && item; item = json_next(item)) {
        struct row *row = &rows->row[rows->count++];
        const struct json *field = json_first(item);
        row->name = json_string(field) ? json_string(field) : "";
        for (size_t i = 0; i < FIELDS; i++)
            row->fields[i] = field = field ? json_next(field) : NULL;
    }
    if (rows->count > 1)
        qsort(rows->row, rows->count, sizeof *rows->row, by_name);
    return rows->row;
}

static bool same_field(const struct row *a, const struct row *b, size_t field)
{
    return differences_same(a->fields[field], b->fields[field]);
}

/* A kind of lists: the comparison of their rows, and the messages about them. */
struct kind {
    const char *key, *missing, *added, *moved; /* moved NULL: contents do not distinguish rows */
    void (*compare)(const struct row *then, const struct row *now, struct differences *differences);
};

/* Reports a field that differs, with both values; returns whether it does. `format` takes the row's
 * name and the values. */
static bool report_values(const char *format, const struct row *then, const struct row *now,
                          size_t field, struct differences *differences)
{
    char before[DIFFERENCES_VALUE], after[DIFFERENCES_VALUE];
    if (same_field(then, now, field))
        return false;
    differences_add(differences, format, then->name, differences_value(then->fields[field], before),
                    differences_value(now->fields[field], after));
    return true;
}

static void compare_file(const struct row *then, const struct row *now,
                         struct differences *differences)
{
    enum { BYTES, LABEL, CHECKSUM };
    if (!report_values(N_("picture %.90s: %s bytes then, %s now"), then, now, BYTES, differences) &&
        !same_field(then, now, CHECKSUM))
        differences_add(differences, N_("picture %.90s has other contents"), then->name);
    report_values(N_("label of %.90s was %s, is %s"), then, now, LABEL, differences);
}

static void compare_folder(const struct row *then, const struct row *now,
                           struct differences *differences)
{
    enum { FILES, BYTES, CHECKSUM };
    if (!report_values(N_("folder %.90s: %s pictures then, %s now"), then, now, FILES,
                       differences) &&
        (!same_field(then, now, BYTES) || !same_field(then, now, CHECKSUM)))
        differences_add(differences, N_("folder %.90s: its pictures have other names or contents"),
                        then->name);
}

static void compare_part(const struct row *then, const struct row *now,
                         struct differences *differences)
{
    enum { IMAGES, PIXELS, LABELS };
    if (report_values(N_("%.90s: %s images then, %s now"), then, now, IMAGES, differences))
        return;
    if (!same_field(then, now, PIXELS))
        differences_add(differences, N_("%.90s has other images"), then->name);
    else if (!same_field(then, now, LABELS))
        differences_add(differences, N_("%.90s: its images have other labels"), then->name);
}

static const struct kind kinds[] = {
    {"files", N_("picture %.90s is missing"), N_("picture %.90s is new"),
     N_("picture %.90s has moved to %.90s"), compare_file},
    {"folders", N_("folder %.90s is missing"), N_("folder %.90s is new"), NULL, compare_folder},
    {"parts", N_("%.90s is missing"), N_("%.90s is new"), NULL, compare_part},
};

static bool holds(const struct rows *rows, const char *name)
{
    const struct row wanted = {.name = name};
    return bsearch(&wanted, rows->row, rows->count, sizeof *rows->row, by_name);
}

/* Returns the row of `there` with the bytes of `row` whose name is not among `here`: the file has
 * moved. NULL: there is none, or too much has changed to search for each. */
static const struct row *find_moved(const struct kind *kind, const struct row *row,
                                    const struct rows *here, const struct rows *there,
                                    const struct differences *differences)
{
    if (!kind->moved || differences->count >= DIFFERENCES_WORDED)
        return NULL;
    for (size_t i = 0; i < there->count; i++)
        if (same_field(row, &there->row[i], 0) && same_field(row, &there->row[i], 2) &&
            !holds(here, there->row[i].name))
            return &there->row[i];
    return NULL;
}

static void report_missing(const struct kind *kind, const struct row *row, const struct rows *then,
                           const struct rows *now, struct differences *differences)
{
    const struct row *moved = find_moved(kind, row, then, now, differences);
    if (moved)
        differences_add(differences, kind->moved, row->name, moved->name);
    else
        differences_add(differences, kind->missing, row->name);
}

static void report_new(const struct kind *kind, const struct row *row, const struct rows *then,
                       const struct rows *now, struct differences *differences)
{
    if (!find_moved(kind, row, now, then, differences)) /* else it is reported by its old name */
        differences_add(differences, kind->added, row->name);
}

static void compare_rows(const struct kind *kind, const struct rows *then, const struct rows *now,
                         struct differences *differences)
{
    size_t a = 0, b = 0;
    while (a < then->count || b < now->count) {
        const struct row *first = a < then->count ? &then->row[a] : NULL;
        const struct row *second = b < now->count ? &now->row[b] : NULL;
        const int order = !first ? 1 : !second ? -1 : strcmp(first->name, second->name);
        if (order == 0)
            kind->compare(first, second, differences);
        else if (order < 0)
            report_missing(kind, first, then, now, differences);
        else
            report_new(kind, second, then, now, differences);
        a += order <= 0;
        b += order >= 0;
    }
}

static bool compare_list(const struct kind *kind, const struct json *then, const struct json *now,
                         struct differences *differences, struct error *error)
{
    struct rows before, after = {0};
    const bool read = read_rows(json_member(then, kind->key), &before, error) &&
                      read_rows(json_member(now, kind->key), &after, error);
    if (read)
        compare_rows(kind, &before, &after, differences);
    free(before.row);
    free(after.row);
    return read;
}

bool data_difference(const struct json *then, const struct json *now,
                     struct differences *differences, struct error *error)
{
    compare_facts(then, now, differences);
    if (!differences_same(json_member(then, "kind"), json_member(now, "kind")))
        return true; /* nothing else can be compared */
    compare_classes(then, now, differences);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!compare_list(&kinds[i], then, now, differences, error))
            return false;
    return true;
}
