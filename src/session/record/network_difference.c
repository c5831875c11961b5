/* Both trees list their layers in the order of execution. Layers are
 * compared in pairs as long as the names agree; after that they are searched by name. */
#include "session/record/network_difference.h"

#include "base/language.h"

#include <stdio.h>
#include <string.h>

/* --- values --- */

static void compare_member(const char *where, const char *key, const struct json *then,
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

static void compare_members(const char *where, const struct json *then, const struct json *now,
                            struct differences *differences)
{
    for (const struct json *member = json_first_member(then); member; member = json_next(member))
        compare_member(where, json_key(member), member, json_member(now, json_key(member)),
                       differences);
    for (const struct json *member = json_first_member(now); member; member = json_next(member))
        if (!json_member(then, json_key(member)))
            compare_member(where, json_key(member), NULL, member, differences);
}

/* --- layers --- */

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
    compare_members(where, then, now, differences);
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
        compare_member(_("network"), keys[i], json_member(then, keys[i]), json_member(now, keys[i]),
                       differences);
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
