/* Two tables give each option its name, the words for its values, and the function that parses
 * them.
 */
#include "data/images/spec.h"

#include "base/files/user_path.h"
#include "base/language.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char option_list[] = N_("the options are split=train|test, limit=N, sample=N, "
                                     "only=CLASS, classes=N, direction=ab|ba (pairs and "
                                     "maps), broken=skip|refuse (folder)");

static bool set_usage(const struct spec *spec, const char *name, const char *value,
                      const char *expected, struct error *error)
{
    return error_set(error, ERROR_USAGE, spec->text, option_list, "%s=%s: expected %s", name, value,
                     gettext(expected));
}

static bool parse_count(const char *value, size_t most, size_t *count)
{
    size_t parsed;
    if (!text_to_size(value, &parsed) || parsed == 0 || parsed > most)
        return false;
    *count = parsed;
    return true;
}

/* Parses one of two words; sets *second if it is the second of them. */
static bool parse_word(const char *value, const char *one, const char *two, bool *second)
{
    *second = strcmp(value, two) == 0;
    return *second || strcmp(value, one) == 0;
}

static bool take_split(struct spec *spec, const char *value)
{
    spec->split_given = true;
    return parse_word(value, "train", "test", &spec->test);
}

static bool take_limit(struct spec *spec, const char *value)
{
    return parse_count(value, UINT32_MAX, &spec->limit);
}

static bool take_sample(struct spec *spec, const char *value)
{
    return parse_count(value, UINT32_MAX, &spec->sample);
}

static bool take_only(struct spec *spec, const char *value)
{
    snprintf(spec->only, sizeof spec->only, "%s", value);
    return value[0] != '\0' && strlen(value) < sizeof spec->only;
}

static bool take_classes(struct spec *spec, const char *value)
{
    return parse_count(value, SPEC_MAX_CLASSES, &spec->classes);
}

static bool take_direction(struct spec *spec, const char *value)
{
    spec->direction_given = true;
    return parse_word(value, "ab", "ba", &spec->reversed);
}

static bool take_broken(struct spec *spec, const char *value)
{
    spec->broken_given = true;
    return parse_word(value, "skip", "refuse", &spec->refuse_broken);
}

static const struct spec_option options[] = {
    {"split", N_("train or test"), {"train", "test"}},
    {"limit", N_("a number of images, from 1"), {NULL}},
    {"sample", N_("a number of images, from 1"), {NULL}},
    {"only", N_("the name or number of a class"), {NULL}},
    {"classes", N_("a number of classes, 1 to 100000"), {NULL}},
    {"direction", N_("ab (left half to right half) or ba"), {"ab", "ba"}},
    {"broken", N_("skip or refuse"), {"skip", "refuse"}},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* The functions that parse the values, in the order of the table. */
static bool (*const take[OPTIONS])(struct spec *spec, const char *value) = {
    take_split, take_limit, take_sample, take_only, take_classes, take_direction, take_broken};

const struct spec_option *spec_options(size_t *count)
{
    *count = OPTIONS;
    return options;
}

static bool take_option(struct spec *spec, char *assignment, struct error *error)
{
    char *equals = strchr(assignment, '=');
    if (!equals)
        return error_set(error, ERROR_USAGE, spec->text, option_list,
                         "'%s' is not of the form OPTION=VALUE", assignment);
    *equals = '\0';
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(assignment, options[i].name) == 0)
            return take[i](spec, equals + 1) ||
                   set_usage(spec, assignment, equals + 1, options[i].expected, error);
    return error_set(error, ERROR_USAGE, spec->text, option_list,
                     "there is no option '%s' of a data set", assignment);
}

/* Copies the folder and expands a leading ~. The shell has not done so, because KIND: precedes it.
 */
static bool copy_directory(struct spec *spec, const char *directory)
{
    const char *home = user_path_home(directory);
    int length = snprintf(spec->directory, sizeof spec->directory, "%s%s", home ? home : "",
                          home ? directory + 1 : directory);
    return length >= 0 && (size_t)length < sizeof spec->directory;
}

bool spec_parse(struct spec *spec, const char *text, const char *default_split, struct error *error)
{
    *spec = (struct spec){.test = default_split && strcmp(default_split, "test") == 0};
    char copy[sizeof spec->text];
    snprintf(spec->text, sizeof spec->text, "%s", text);
    snprintf(copy, sizeof copy, "%s", text);
    if (strlen(text) >= sizeof spec->text)
        return error_set(error, ERROR_USAGE, spec->text, "give a shorter path",
                         "longer than %zu characters", sizeof spec->text - 1);
    char *rest = copy;
    char *name = strsep(&rest, ",");
    char *colon = strchr(name, ':');
    if (colon)
        *colon = '\0';
    if (strlen(name) >= sizeof spec->kind || (colon && !copy_directory(spec, colon + 1)))
        return error_set(error, ERROR_USAGE, spec->text, "expected KIND:DIR", "a name is too long");
    snprintf(spec->kind, sizeof spec->kind, "%s", name);
    while (rest)
        if (!take_option(spec, strsep(&rest, ","), error))
            return false;
    return !spec->limit || !spec->sample ||
           error_set(error, ERROR_USAGE, spec->text, "give one of limit= and sample=",
                     "limit= takes the first images, sample= draws images of all classes");
}
