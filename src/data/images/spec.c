/* Two tables give each option its name, the words for its values, and the function that parses
 * them.
 */
#include "data/images/spec.h"

#include "base/files/user_path.h"
#include "base/language.h"
#include "base/text.h"
#include "data/images/spec_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char option_list[] = N_("the options are split=train|test, limit=N, sample=N, "
                                     "only=CLASS, classes=N, share=F, rest=F, draw=SEED, "
                                     "images=NAME and labels=NAME (npz, npy), direction=ab|ba "
                                     "(pairs and maps), broken=skip|refuse (folder, list), "
                                     "filter=bilinear|bicubic|bilinear2 and orient=yes|no "
                                     "(pictures that are resized)");

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

static bool take_images(struct spec *spec, const char *value)
{
    snprintf(spec->images, sizeof spec->images, "%s", value);
    return value[0] != '\0' && strlen(value) < sizeof spec->images;
}

static bool take_labels(struct spec *spec, const char *value)
{
    const char *home = user_path_home(value);
    const int length = snprintf(spec->labels, sizeof spec->labels, "%s%s", home ? home : "",
                                home ? value + 1 : value);
    return value[0] != '\0' && length >= 0 && (size_t)length < sizeof spec->labels;
}

static bool take_share(struct spec *spec, const char *value)
{
    return spec->share == 0 && text_to_double(value, &spec->share) && spec->share > 0 &&
           spec->share < 1;
}

static bool take_rest(struct spec *spec, const char *value)
{
    spec->rest = true;
    return take_share(spec, value);
}

static bool take_draw(struct spec *spec, const char *value)
{
    return text_to_uint64(value, &spec->draw);
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

static bool take_filter(struct spec *spec, const char *value)
{
    spec->filter_given = true;
    return image_filter_parse(value, &spec->filter);
}

static bool take_orient(struct spec *spec, const char *value)
{
    spec->orient_given = true;
    return parse_word(value, "yes", "no", &spec->as_stored);
}

static const struct spec_option options[] = {
    {"split", N_("train or test"), {"train", "test"}},
    {"limit", N_("a number of images, from 1"), {NULL}},
    {"sample", N_("a number of images, from 1"), {NULL}},
    {"only", N_("the name or number of a class"), {NULL}},
    {"classes", N_("a number of classes, 1 to 100000"), {NULL}},
    {"share", N_("a number between 0 and 1, once"), {NULL}},
    {"rest", N_("a number between 0 and 1, once"), {NULL}},
    {"draw", N_("a seed: a number from 0"), {NULL}},
    {"images", N_("the name of an array"), {NULL}},
    {"labels", N_("the name of an array, or a file"), {NULL}},
    {"direction", N_("ab (left half to right half) or ba"), {"ab", "ba"}},
    {"broken", N_("skip or refuse"), {"skip", "refuse"}},
    {"filter", N_("bilinear, bicubic or bilinear2"), {NULL}},
    {"orient", N_("yes or no"), {"yes", "no"}},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* These functions parse the values, in the order of the table. */
static bool (*const take[OPTIONS])(struct spec *spec, const char *value) = {
    take_split, take_limit,  take_sample, take_only,      take_classes, take_share,  take_rest,
    take_draw,  take_images, take_labels, take_direction, take_broken,  take_filter, take_orient};

const struct spec_option *spec_options(size_t *count)
{
    *count = OPTIONS;
    return options;
}

static bool refuse_quotation(const struct spec *spec, struct error *error)
{
    return error_set(
        error, ERROR_USAGE, spec->text,
        "write a path with a comma as folder:\"a, b\", and a quotation mark in it twice",
        "a quotation is not closed, or something other than a comma follows it");
}

/* Parses an item "OPTION=VALUE" of `length` bytes. */
static bool take_option(struct spec *spec, const char *item, size_t length, struct error *error)
{
    char name[32], value[sizeof spec->text];
    const char *equals = memchr(item, '=', length);
    if (!equals || (size_t)(equals - item) >= sizeof name)
        return error_set(error, ERROR_USAGE, spec->text, option_list,
                         "'%.*s' is not of the form OPTION=VALUE", (int)length, item);
    snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
    if (!spec_value_read(equals + 1, length - (size_t)(equals + 1 - item), value, sizeof value))
        return refuse_quotation(spec, error);
    for (size_t i = 0; i < OPTIONS; i++) {
        if (strcmp(name, options[i].name) != 0)
            continue;
        if (spec->given & 1u << i)
            return error_set(error, ERROR_USAGE, spec->text, "give it once",
                             "the option %s= is given twice", name);
        spec->given |= 1u << i;
        return take[i](spec, value) || set_usage(spec, name, value, options[i].expected, error);
    }
    if (strcmp(name, "validate") == 0)
        return error_set(error, ERROR_USAGE, spec->text,
                         "name the part itself with share=F,draw=SEED or rest=F,draw=SEED",
                         "validate= divides the training data of a run, and this is another set");
    return error_set(error, ERROR_USAGE, spec->text, option_list,
                     "there is no option '%s' of a data set", name);
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

/* Parses "KIND[:VALUE]" of `length` bytes. */
static bool take_head(struct spec *spec, const char *head, size_t length, struct error *error)
{
    char directory[sizeof spec->text];
    const char *colon = memchr(head, ':', length);
    const size_t kind = colon ? (size_t)(colon - head) : length;
    if (kind >= sizeof spec->kind)
        return error_set(error, ERROR_USAGE, spec->text, "expected KIND:DIR", "a name is too long");
    snprintf(spec->kind, sizeof spec->kind, "%.*s", (int)kind, head);
    if (!colon)
        return true;
    if (!spec_value_read(colon + 1, length - kind - 1, directory, sizeof directory))
        return refuse_quotation(spec, error);
    return copy_directory(spec, directory) ||
           error_set(error, ERROR_USAGE, spec->text, "expected KIND:DIR", "a name is too long");
}

/* Checks what the options mean together. A part that was drawn is one of the training images. */
static bool check_together(struct spec *spec, struct error *error)
{
    if (spec->share > 0 && !spec->split_given)
        spec->test = false;
    return !spec->limit || !spec->sample ||
           error_set(error, ERROR_USAGE, spec->text, "give one of limit= and sample=",
                     "limit= takes the first images, sample= draws images of all classes");
}

bool spec_parse(struct spec *spec, const char *text, const char *default_split, struct error *error)
{
    *spec = (struct spec){.test = default_split && strcmp(default_split, "test") == 0, .draw = 1};
    snprintf(spec->text, sizeof spec->text, "%s", text);
    if (strlen(text) >= sizeof spec->text)
        return error_set(error, ERROR_USAGE, spec->text, "give a shorter path",
                         "longer than %zu characters", sizeof spec->text - 1);
    const char *rest = text;
    size_t length = spec_head_length(text);
    if (!take_head(spec, text, length, error))
        return false;
    while (*(rest += length)) {
        rest++; /* the comma */
        const size_t name = strcspn(rest, "=,");
        length = name + (rest[name] == '=' ? 1 + spec_value_length(rest + name + 1) : 0);
        if (!take_option(spec, rest, length, error))
            return false;
    }
    return check_together(spec, error);
}
