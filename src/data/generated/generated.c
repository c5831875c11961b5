/* The built-in sets: a table of generators, seen as sources.
 *
 * Labels run round the classes (image i has label i mod classes), so that any first N images are
 * balanced. The seed is part of what the sets are: change it and every published figure is void.
 */
#include "data/generated/generate.h"
#include "data/images/source.h"

#include <stdio.h>

#define DATA_SEED UINT64_C(20171129)

static const struct generated {
    const char *name;
    uint32_t stream;    /* of RANDOM_GENERATE: 2 x stream for training, one more for testing */
    size_t classes;     /* that are drawn */
    size_t label_space; /* unless classes= says otherwise */
    const char *const *class_names;
    size_t train, test; /* images */
    size_t side, channels;
    enum source_fit fit;
    size_t default_side; /* what is taken when nobody wishes */
    bool flips;
    generate_image *generate;
} sets[] = {
    {"shapes", 1, 10, 10, generate_shape_names, 10000, 2000, 32, 3, SOURCE_FIXED, 32, true,
     generate_shape},
    {"digits", 2, 10, 10, generate_digit_names, 10000, 2000, 28, 1, SOURCE_FIXED, 28, false,
     generate_digit},
    {"tench", 3, 1, 1000, (const char *const[]){"tench"}, 1024, 256, 256, 3, SOURCE_CROP, 224, true,
     generate_tench},
    {"maps", 4, 1, 1, (const char *const[]){"map"}, 200, 40, 256, 3, SOURCE_PAIR, 256, true,
     generate_map},
};

/* What `state` points to: one element of this for each set and split. */
static const struct generated_split {
    const struct generated *set;
    bool test;
} splits[][2] = {{{&sets[0], false}, {&sets[0], true}},
                 {{&sets[1], false}, {&sets[1], true}},
                 {{&sets[2], false}, {&sets[2], true}},
                 {{&sets[3], false}, {&sets[3], true}}};

static size_t label(const struct source *source, size_t index)
{
    const struct generated_split *split = source->state;
    return index % split->set->classes;
}

static const char *class_name(const struct source *source, size_t number)
{
    const struct generated_split *split = source->state;
    return number < split->set->classes ? split->set->class_names[number] : NULL;
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct generated_split *split = source->state;
    snprintf(text, size, "image %zu of the generated %s (%s)", index, split->set->name,
             split->test ? "test" : "train");
}

static bool read_image(const struct source *source, size_t index, const struct source_request *wish,
                       struct image *image, struct image *target, struct error *error)
{
    (void)wish;
    const struct generated_split *split = source->state;
    const struct generated *set = split->set;
    if (!image_create(image, set->side, set->side, set->channels, error) ||
        (target && !image_create(target, set->side, set->side, set->channels, error)))
        return false;
    struct random_stream draws = random_stream_at(
        DATA_SEED, RANDOM_GENERATE, 2 * set->stream + split->test, (uint64_t)index << 16);
    set->generate(&draws, label(source, index), image, target);
    return true;
}

/* Both of a pair; images of 32 pixels and less are not worth counting. */
static uint64_t decode_bytes(const struct source *source, const struct source_request *wish)
{
    const struct generated_split *split = source->state;
    const uint64_t image = (uint64_t)split->set->side * split->set->side * split->set->channels;
    (void)wish;
    return source->fit == SOURCE_PAIR ? 2 * image : image;
}

static void close_generated(struct source *source)
{
    source->state = NULL;
}

static const struct source_operations operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_image,
    .close = close_generated,
    .decode_bytes = decode_bytes,
};

static bool open_set(struct source *source, size_t which, const struct spec *spec)
{
    const struct generated *set = &sets[which];
    bool test = spec->test;
    *source = (struct source){.operations = &operations,
                              .state = (void *)&splits[which][test],
                              .images = test ? set->test : set->train,
                              .classes = spec->classes ? set->classes : set->label_space,
                              .fit = set->fit,
                              .channels = set->channels,
                              .height = set->default_side,
                              .width = set->default_side,
                              .flips = set->flips};
    return true;
}

bool shapes_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, 0, spec);
}

bool digits_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, 1, spec);
}

bool tench_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, 2, spec);
}

bool maps_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, 3, spec);
}
