/* Matches a pattern from left to right; a * takes as few characters as the rest allows. The text
 * that each * took replaces the * of the same number in the other pattern. */
#include "engine/weights/weights_names.h"

#include "base/files/file.h"
#include "base/language.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STARS = 8, MAPPING_LIMIT = 1 << 20, NAME_SIZE = 128 };

struct capture {
    const char *text;
    size_t length;
};

/* The state of a match. The rest of the pattern after a star is fixed, so a position of the name at
 * which it has failed once fails again: without that note, eight stars would take hours on some
 * names. */
struct matching {
    const char *name;
    struct capture *captures;
    bool failed[MAX_STARS + 1][NAME_SIZE]; /* [stars before][position in the name] */
};

/* Matches the name from `at` on with the rest of the pattern, and sets captures[star..] to the
 * texts of its stars. */
static bool match_rest(struct matching *matching, const char *pattern, size_t at, size_t star)
{
    const size_t plain = strcspn(pattern, "*"), begin = at;
    const char *name = matching->name + at;
    if (matching->failed[star][begin])
        return false;
    matching->failed[star][begin] = true;
    if (strncmp(pattern, name, plain) != 0)
        return false;
    pattern += plain;
    name += plain;
    at += plain;
    if (!*pattern)
        return !*name;
    for (size_t length = 1; star < MAX_STARS && length <= strlen(name); length++)
        if (match_rest(matching, pattern + 1, at + length, star + 1)) {
            matching->captures[star] = (struct capture){name, length};
            return true;
        }
    return false;
}

static bool match(const char *pattern, const char *name, struct capture *captures)
{
    struct matching matching = {.name = name, .captures = captures};
    return strlen(name) < NAME_SIZE && match_rest(&matching, pattern, 0, 0);
}

static size_t count_stars(const char *pattern)
{
    size_t stars = 0;
    for (; *pattern; pattern++)
        stars += *pattern == '*';
    return stars;
}

bool weights_names_replace(const char *from, const char *to, const char *name, char *out,
                           size_t size)
{
    struct capture captures[MAX_STARS];
    size_t used = 0, star = 0;
    if (!match(from, name, captures))
        return false;
    out[0] = '\0';
    for (; *to && used < size; to++)
        if (*to == '*') {
            used += (size_t)snprintf(out + used, size - used, "%.*s", (int)captures[star].length,
                                     captures[star].text);
            star++;
        } else
            used += (size_t)snprintf(out + used, size - used, "%c", *to);
    return true;
}

/* --- the file --- */

static bool refuse(const char *name, const char *why, struct error *error)
{
    return error_set(error, ERROR_INPUT, name, "tinca-train(1) shows what a mapping looks like",
                     "%s", language_text(why));
}

/* Checks a list of pairs of patterns, which may be missing. */
static bool check_pairs(const struct json *pairs, const char *name, struct error *error)
{
    if (pairs && !json_is_array(pairs))
        return refuse(name, N_("a line of the mapping is no pair of names"), error);
    for (const struct json *pair = json_first(pairs); pair; pair = json_next(pair)) {
        const char *from = json_string(json_first(pair));
        const char *to = json_length(pair) == 2 ? json_string(json_next(json_first(pair))) : NULL;
        if (!from || !to)
            return refuse(name, N_("a line of the mapping is no pair of names"), error);
        if (strlen(from) >= NAME_SIZE || strlen(to) >= NAME_SIZE)
            return refuse(name, N_("a name of the mapping has more than 127 characters"), error);
        if (count_stars(from) > MAX_STARS || count_stars(to) > count_stars(from))
            return refuse(name, N_("the second name of a pair has more * than the first"), error);
    }
    return true;
}

/* Checks a list of texts, which may be missing. */
static bool check_strings(const struct json *root, const char *key, const char *name,
                          struct error *error)
{
    const struct json *list = json_member(root, key);
    bool good = !list || json_is_array(list);
    for (const struct json *each = json_first(list); good && each; each = json_next(each))
        good = json_string(each) && strlen(json_string(each)) < NAME_SIZE &&
               count_stars(json_string(each)) <= MAX_STARS;
    return good ||
           error_set(error, ERROR_INPUT, name, "tinca-train(1) shows what a mapping looks like",
                     "\"%s\" is no list of names", key);
}

static bool check(const struct weights_names *names, const char *name, struct error *error)
{
    const struct json *root = names->document.root;
    if (!json_is_object(root) || !json_is_array(json_member(root, "names")))
        return refuse(name, N_("a mapping is an object with a list \"names\""), error);
    const struct json *counters = json_member(root, "num_batches_tracked");
    bool value;
    if (counters && !json_bool(counters, &value))
        return refuse(name, N_("\"num_batches_tracked\" is neither true nor false"), error);
    return check_strings(root, "identity", name, error) &&
           check_strings(root, "networks", name, error) &&
           check_pairs(json_member(root, "names"), name, error) &&
           check_pairs(json_member(root, "then"), name, error) &&
           check_pairs(json_member(root, "subtract"), name, error);
}

/* Sets the error that there is no mapping of this name, with a list of the built-in ones. */
static bool refuse_unknown(const char *name, struct error *error)
{
    char list[400];
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < weights_names_builtin_count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, ", %s",
                                 weights_names_builtins[i].name);
    return error_set(error, ERROR_INPUT, name, "give the path of a mapping, or one of these names",
                     "there is no mapping of this name; built in are %s%s", WEIGHTS_NAMES_OWN,
                     list);
}

static bool parse(struct weights_names *names, const char *name, struct error *error)
{
    for (size_t i = 0; i < weights_names_builtin_count; i++)
        if (strcmp(weights_names_builtins[i].name, name) == 0)
            return json_parse(&names->document, weights_names_builtins[i].text,
                              strlen(weights_names_builtins[i].text), name, error);
    if (!file_exists(name))
        return refuse_unknown(name, error);
    return json_read_file(&names->document, name, MAPPING_LIMIT, error);
}

bool weights_names_read(struct weights_names *names, const char *name, struct error *error)
{
    *names = (struct weights_names){0};
    if (strcmp(name, WEIGHTS_NAMES_OWN) == 0)
        return true;
    if (parse(names, name, error) && check(names, name, error))
        return true;
    weights_names_free(names);
    return false;
}

void weights_names_free(struct weights_names *names)
{
    json_document_free(&names->document);
    *names = (struct weights_names){0};
}

/* --- using it --- */

/* Translates by the first pair of the list that matches. */
static bool translate(const struct json *pairs, const char *name, char *out, size_t size)
{
    for (const struct json *pair = json_first(pairs); pair; pair = json_next(pair))
        if (weights_names_replace(json_string(json_first(pair)),
                                  json_string(json_next(json_first(pair))), name, out, size))
            return true;
    return false;
}

void weights_names_translate(const struct weights_names *names, const char *name, char *out,
                             size_t size)
{
    const struct json *root = names->document.root;
    char half[NAME_SIZE];
    if (!root || !translate(json_member(root, "names"), name, half, sizeof half))
        snprintf(half, sizeof half, "%s", name);
    if (!root || !translate(json_member(root, "then"), half, out, size))
        snprintf(out, size, "%s", half);
}

/* Translates a name back by a pair, from its second pattern to its first; with pair NULL, copies
 * the name. Returns false if the second pattern does not match, or if the first one has more stars,
 * so that it cannot be filled. */
static bool reverse(const struct json *pair, const char *name, char *out, size_t size)
{
    if (!pair)
        return snprintf(out, size, "%s", name) < (int)size;
    const char *from = json_string(json_first(pair));
    const char *to = json_string(json_next(json_first(pair)));
    return count_stars(from) == count_stars(to) && weights_names_replace(to, from, name, out, size);
}

/* Returns whether a name of the file is translated to `name`. */
static bool leads_to(const struct weights_names *names, const char *file, const char *name)
{
    char back[NAME_SIZE];
    weights_names_translate(names, file, back, sizeof back);
    return strcmp(back, name) == 0;
}

/* Looks for a name that the list "names" translates to `half`, and both lists together to `name`.
 */
static bool reverse_names(const struct weights_names *names, const char *half, const char *name,
                          char *out, size_t size)
{
    const struct json *pair = json_first(json_member(names->document.root, "names"));
    for (;; pair = json_next(pair)) {
        if (reverse(pair, half, out, size) && leads_to(names, out, name))
            return true;
        if (!pair)
            return false;
    }
}

bool weights_names_translate_back(const struct weights_names *names, const char *name, char *out,
                                  size_t size)
{
    const struct json *root = names->document.root;
    char half[NAME_SIZE];
    if (!root)
        return snprintf(out, size, "%s", name) < (int)size;
    for (const struct json *pair = json_first(json_member(root, "then"));; pair = json_next(pair)) {
        if (reverse(pair, name, half, sizeof half) && reverse_names(names, half, name, out, size))
            return true;
        if (!pair)
            return false;
    }
}

const char *weights_names_of_network(const char *network)
{
    for (size_t i = 0; i < weights_names_builtin_count; i++) {
        struct weights_names names;
        bool found = false;
        if (!weights_names_read(&names, weights_names_builtins[i].name, NULL))
            continue;
        for (const struct json *each = json_first(json_member(names.document.root, "networks"));
             each && !found; each = json_next(each))
            found = strcmp(json_string(each), network) == 0;
        weights_names_free(&names);
        if (found)
            return weights_names_builtins[i].name;
    }
    return WEIGHTS_NAMES_OWN;
}

bool weights_names_has_counters(const struct weights_names *names)
{
    const struct json *root = names->document.root;
    bool value = true;
    if (root && json_member(root, "num_batches_tracked"))
        json_bool(json_member(root, "num_batches_tracked"), &value);
    return value;
}

bool weights_names_is_counter(const char *name)
{
    static const char counter[] = "num_batches_tracked";
    const size_t length = strlen(name), tail = sizeof counter - 1;
    return length >= tail && strcmp(name + length - tail, counter) == 0 &&
           (length == tail || name[length - tail - 1] == '.');
}

bool weights_names_is_identity(const struct weights_names *names, const char *name)
{
    struct capture captures[MAX_STARS];
    const struct json *root = names->document.root;
    for (const struct json *each = root ? json_first(json_member(root, "identity")) : NULL; each;
         each = json_next(each))
        if (match(json_string(each), name, captures))
            return true;
    return false;
}

bool weights_names_subtracts(const struct weights_names *names, const char *name, char *out,
                             size_t size)
{
    const struct json *root = names->document.root;
    return root && translate(json_member(root, "subtract"), name, out, size);
}

bool weights_names_subtracted(const struct weights_names *names, const char *name, char *out,
                              size_t size)
{
    const struct json *root = names->document.root;
    char target[NAME_SIZE];
    for (const struct json *pair = root ? json_first(json_member(root, "subtract")) : NULL; pair;
         pair = json_next(pair))
        if (reverse(pair, name, out, size) &&
            weights_names_subtracts(names, out, target, sizeof target) && strcmp(target, name) == 0)
            return true;
    return false;
}
