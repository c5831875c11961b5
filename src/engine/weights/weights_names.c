/* A pattern is matched from left to right; a * takes as few characters as the rest allows. What
 * each * took replaces the * of the same number in the other pattern. */
#include "engine/weights/weights_names.h"

#include "base/files/file.h"
#include "base/language.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STARS = 8, MAPPING_LIMIT = 1 << 20 };

struct capture {
    const char *text;
    size_t length;
};

/* Matches the name with the pattern, and sets captures[star..] to what its stars take. */
static bool match(const char *pattern, const char *name, struct capture *captures, size_t star)
{
    const size_t plain = strcspn(pattern, "*");
    if (strncmp(pattern, name, plain) != 0)
        return false;
    pattern += plain;
    name += plain;
    if (!*pattern)
        return !*name;
    for (size_t length = 1; star < MAX_STARS && length <= strlen(name); length++)
        if (match(pattern + 1, name + length, captures, star + 1)) {
            captures[star] = (struct capture){name, length};
            return true;
        }
    return false;
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
    if (!match(from, name, captures, 0))
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
    return error_set(error, ERROR_INPUT, name, "tinca(1) shows what a mapping looks like", "%s",
                     language_text(why));
}

/* Checks a list of pairs of patterns, which may be missing. */
static bool check_pairs(const struct json *pairs, const char *name, struct error *error)
{
    for (const struct json *pair = json_first(pairs); pair; pair = json_next(pair)) {
        const char *from = json_string(json_first(pair));
        const char *to = json_length(pair) == 2 ? json_string(json_next(json_first(pair))) : NULL;
        if (!from || !to)
            return refuse(name, N_("a line of the mapping is no pair of names"), error);
        if (count_stars(from) > MAX_STARS || count_stars(to) > count_stars(from))
            return refuse(name, N_("the second name of a pair has more * than the first"), error);
    }
    return true;
}

static bool check(const struct weights_names *names, const char *name, struct error *error)
{
    const struct json *root = names->document.root;
    if (!json_is_object(root) || !json_is_array(json_member(root, "names")))
        return refuse(name, N_("a mapping is an object with a list \"names\""), error);
    for (const struct json *each = json_first(json_member(root, "identity")); each;
         each = json_next(each))
        if (!json_string(each))
            return refuse(name, N_("\"identity\" is no list of names"), error);
    return check_pairs(json_member(root, "names"), name, error) &&
           check_pairs(json_member(root, "subtract"), name, error);
}

static bool parse(struct weights_names *names, const char *name, struct error *error)
{
    for (size_t i = 0; i < weights_names_builtin_count; i++)
        if (strcmp(weights_names_builtins[i].name, name) == 0)
            return json_parse(&names->document, weights_names_builtins[i].text,
                              strlen(weights_names_builtins[i].text), name, error);
    if (!file_exists(name))
        return error_set(error, ERROR_INPUT, name,
                         "give the path of a mapping, or cifar-resnet, cifar-vgg or "
                         "torchvision-alexnet",
                         "there is no mapping of this name");
    return json_read_file(&names->document, name, MAPPING_LIMIT, error);
}

bool weights_names_read(struct weights_names *names, const char *name, struct error *error)
{
    *names = (struct weights_names){0};
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
    if (!root || !translate(json_member(root, "names"), name, out, size))
        snprintf(out, size, "%s", name);
}

bool weights_names_is_identity(const struct weights_names *names, const char *name)
{
    struct capture captures[MAX_STARS];
    const struct json *root = names->document.root;
    for (const struct json *each = root ? json_first(json_member(root, "identity")) : NULL; each;
         each = json_next(each))
        if (match(json_string(each), name, captures, 0))
            return true;
    return false;
}

bool weights_names_subtracts(const struct weights_names *names, const char *name, char *out,
                             size_t size)
{
    const struct json *root = names->document.root;
    return root && translate(json_member(root, "subtract"), name, out, size);
}
