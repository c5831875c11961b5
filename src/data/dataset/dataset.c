/* A data set is a source (files of one kind, or a generator) and a selection of its images.
 *
 * The options `only`, `limit`, `sample` and `share` select images, as a list of source indices, in
 * this order; `classes` enlarges the label space. When the set is opened, the size of the stored
 * images, from which windows are cropped, is that of the model (preprocessing.h), or is computed
 * from the network's input size:
 * - SOURCE_FIXED: the images' size; a network with another input is refused
 * - SOURCE_CROP: shorter side 256 for inputs of 193 to 256 pixels (224 and 227 in the studies),
 *   otherwise 8/7 of the input, which is the same proportion
 * - SOURCE_PAIR: 286/256 of the input in training (Isola et al., pix2pix), the input in evaluation
 */
#include "data/dataset/dataset.h"

#include "base/files/content.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset/dataset_source.h"
#include "data/generated/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_256 = 193, LARGEST_256 = 256, CLASS_NAME_SIZE = 64 };

struct dataset {
    struct dataset_facts facts;
    struct source source;
    uint32_t *selected; /* source index of each image; NULL: all, in order */
    char **class_names;
    size_t *numbers; /* [facts.classes]: the labels of the source's classes; NULL: their own */
};

/* --- kinds --- */

static const struct dataset_kind kinds[] = {
    {.name = "cifar10",
     .argument = "DIR",
     .description = N_("CIFAR-10, binary version: 60,000 photographs of ten kinds of things"),
     .classes = 10,
     .class_names = cifar10_class_names,
     .channels = 3,
     .height = 32,
     .width = 32,
     .stored = true,
     .source = &(const struct source_kind){.open = cifar10_open, .bytes = cifar10_bytes}},
    {.name = "cifar100",
     .argument = "DIR",
     .description =
         N_("CIFAR-100, binary version: 60,000 photographs of a hundred kinds of things"),
     .classes = 100,
     .channels = 3,
     .height = 32,
     .width = 32,
     .stored = true,
     .source = &(const struct source_kind){.open = cifar100_open, .bytes = cifar100_bytes}},
    {.name = "idx",
     .argument = "DIR",
     .description =
         N_("MNIST and its relatives in IDX files: handwritten digits, letters, fashion"),
     .classes = 10,
     .channels = 1,
     .stored = true,
     .source =
         &(const struct source_kind){.open = idx_open, .bytes = idx_bytes, .classes = idx_classes}},
    {.name = "folder",
     .argument = "DIR",
     .description = N_("your own PNG and JPEG pictures: one folder a class"),
     .source = &(const struct source_kind){.open = folder_open, .classes = folder_classes}},
    {.name = "list",
     .argument = "FILE",
     .description = N_("your own PNG and JPEG pictures: a CSV file of paths and labels"),
     .source = &(const struct source_kind){.open = list_open, .classes = list_classes}},
    {.name = "npy",
     .argument = "FILE",
     .description = N_("an array of images that NumPy saved, with a file of labels beside it"),
     .stored = true,
     .source = &(const struct source_kind){.open = npy_open,
                                           .bytes = arrays_bytes,
                                           .classes = arrays_classes}},
    {.name = "npz",
     .argument = "FILE",
     .description = N_("arrays of images and labels in one file that NumPy saved"),
     .stored = true,
     .source = &(const struct source_kind){.open = npz_open,
                                           .bytes = arrays_bytes,
                                           .classes = arrays_classes}},
    {.name = "pairs",
     .argument = "DIR",
     .description = N_("pictures of two halves side by side, left the input and right the target"),
     .source = &(const struct source_kind){.open = pairs_open}},
    {.name = "shapes",
     .argument = "",
     .description = N_("generated: ten geometric shapes, turned and coloured at random on noise"),
     .classes = 10,
     .class_names = generate_shape_names,
     .channels = 3,
     .height = 32,
     .width = 32,
     .source = &(const struct source_kind){.open = shapes_open}},
    {.name = "digits",
     .argument = "",
     .description = N_("generated: handwritten-looking digits"),
     .classes = 10,
     .class_names = generate_digit_names,
     .channels = 1,
     .height = 28,
     .width = 28,
     .source = &(const struct source_kind){.open = digits_open}},
    {.name = "tench",
     .argument = "",
     .description = N_("generated: 1024 pictures of one fish, the one-class study"),
     .classes = 1000,
     .source = &(const struct source_kind){.open = tench_open}},
    {.name = "maps",
     .argument = "",
     .description = N_("generated: aerial pictures and street maps of the same places"),
     .source = &(const struct source_kind){.open = maps_open}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const struct dataset_kind *dataset_kinds(size_t *count)
{
    *count = KINDS;
    return kinds;
}

const struct dataset_kind *dataset_kind_of(const char *spec)
{
    const size_t length = strcspn(spec, ":,");
    for (size_t i = 0; i < KINDS; i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, spec, length) == 0)
            return &kinds[i];
    return NULL;
}

static bool is_paired(const struct dataset_kind *kind)
{
    return strcmp(kind->name, "pairs") == 0 || strcmp(kind->name, "maps") == 0;
}

bool dataset_kind_may_be_deep(const struct dataset_kind *kind, size_t channels)
{
    const bool arrays = strcmp(kind->name, "npy") == 0 || strcmp(kind->name, "npz") == 0;
    const bool files = strcmp(kind->name, "folder") == 0 || strcmp(kind->name, "list") == 0;
    return arrays || (files && channels == 1);
}

bool dataset_kind_has_option(const struct dataset_kind *kind, const char *option)
{
    if (strcmp(option, "direction") == 0)
        return is_paired(kind);
    if (strcmp(option, "only") == 0)
        return !is_paired(kind);
    if (strcmp(option, "images") == 0)
        return strcmp(kind->name, "npz") == 0;
    if (strcmp(option, "labels") == 0)
        return strcmp(kind->name, "npz") == 0 || strcmp(kind->name, "npy") == 0;
    if (strcmp(option, "split") == 0)
        return strcmp(kind->name, "list") != 0 && strcmp(kind->name, "npy") != 0;
    const bool files = strcmp(kind->name, "folder") == 0 || strcmp(kind->name, "list") == 0;
    if (strcmp(option, "broken") == 0)
        return files;
    if (strcmp(option, "filter") == 0 || strcmp(option, "orient") == 0)
        return files || is_paired(kind) || strcmp(kind->name, "tench") == 0;
    return true;
}

static void list_kinds(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s ", _("the kinds are"));
    for (size_t i = 0; i < KINDS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", i ? ", " : "", kinds[i].name,
                                 kinds[i].argument[0] ? ":" : "", kinds[i].argument);
}

static const struct dataset_kind *find_kind(const struct spec *spec, struct error *error)
{
    char list[256];
    list_kinds(list, sizeof list);
    const struct dataset_kind *kind = dataset_kind_of(spec->kind);
    if (!kind) {
        error_set(error, ERROR_USAGE, spec->text, list, "there is no kind of data set called '%s'",
                  spec->kind);
        return NULL;
    }
    bool wants_directory = kind->argument[0] != '\0';
    if (wants_directory && !spec->directory[0]) {
        error_set(error, ERROR_USAGE, spec->text, list, "expected %s:%s", spec->kind,
                  kind->argument);
        return NULL;
    }
    if (!wants_directory && spec->directory[0]) {
        error_set(error, ERROR_USAGE, spec->text, list,
                  "%s is generated and reads no files; for pictures of your own there is "
                  "folder:DIR",
                  spec->kind);
        return NULL;
    }
    return kind;
}

/* --- the label space --- */

static bool name_classes(struct dataset *dataset, struct error *error)
{
    size_t count = dataset->facts.classes;
    dataset->class_names = memory_new(count, sizeof *dataset->class_names, "class names", error);
    if (!dataset->class_names)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct source *source = &dataset->source;
        const char *name = i < source->classes ? source->operations->class_name(source, i) : NULL;
        char number[CLASS_NAME_SIZE];
        snprintf(number, sizeof number, "class %zu", i);
        if (!(dataset->class_names[i] = memory_copy_text(name ? name : number, error)))
            return false;
    }
    return true;
}

static bool set_classes(struct dataset *dataset, const struct spec *spec, struct error *error)
{
    size_t found = dataset->source.classes;
    if (spec->classes && spec->classes < found)
        return error_set(error, ERROR_USAGE, spec->text, "give at least as many as the set has",
                         "classes=%zu, but the set has %zu classes", spec->classes, found);
    dataset->facts.classes = spec->classes ? spec->classes : found;
    dataset->facts.classes_own = found;
    return name_classes(dataset, error);
}

bool dataset_number_classes(struct dataset *dataset, const size_t *numbers, struct error *error)
{
    const size_t count = dataset->facts.classes;
    char **names = memory_new(count, sizeof *names, "class names", error);
    size_t *labels = memory_new(count, sizeof *labels, "class names", error);
    if (!names || !labels) {
        free(names);
        free(labels);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        names[numbers[i]] = dataset->class_names[i];
        labels[i] = numbers[dataset->numbers ? dataset->numbers[i] : i];
    }
    free(dataset->class_names);
    free(dataset->numbers);
    dataset->class_names = names;
    dataset->numbers = labels;
    dataset->facts.renumbered = true;
    return true;
}

/* --- the selection --- */

static bool find_class(const struct dataset *dataset, const struct spec *spec, size_t *label,
                       struct error *error)
{
    for (*label = 0; *label < dataset->source.classes; ++*label)
        if (strcmp(dataset->class_names[*label], spec->only) == 0)
            return true;
    if (text_to_size(spec->only, label) && *label < dataset->source.classes)
        return true;
    return error_set(error, ERROR_USAGE, spec->text, "name a class, or give its number",
                     "only=%s: no such class; there are %zu, from %s (0) to %s (%zu)", spec->only,
                     dataset->source.classes, dataset_class_name(dataset, 0),
                     dataset_class_name(dataset, dataset->source.classes - 1),
                     dataset->source.classes - 1);
}

static bool select_class(struct dataset *dataset, const struct spec *spec, struct error *error)
{
    const struct source *source = &dataset->source;
    size_t wanted, count = 0;
    if (dataset->facts.paired)
        return error_set(error, ERROR_USAGE, spec->text,
                         "leave out only=", "a set of pairs has no classes");
    if (!find_class(dataset, spec, &wanted, error))
        return false;
    dataset->selected = memory_new(source->images, sizeof *dataset->selected, "a selection", error);
    if (!dataset->selected)
        return false;
    for (size_t i = 0; i < source->images; i++)
        if (source->operations->label(source, i) == wanted)
            dataset->selected[count++] = (uint32_t)i;
    if (count == 0)
        return error_set(error, ERROR_INPUT, spec->text, "choose another class",
                         "there is no image of class %s", spec->only);
    dataset->facts.images = count;
    return true;
}

/* Lists all images as selected unless there is a selection. */
static bool list_images(struct dataset *dataset, struct error *error)
{
    const size_t images = dataset->source.images;
    if (!dataset->selected) {
        dataset->selected = memory_new(images, sizeof *dataset->selected, "a selection", error);
        for (size_t i = 0; dataset->selected && i < images; i++)
            dataset->selected[i] = (uint32_t)i;
    }
    return dataset->selected;
}

/* Draws the images of sample=N from those that are selected so far. */
static bool draw_images(struct dataset *dataset, size_t wanted, struct error *error)
{
    const struct source *source = &dataset->source;
    return list_images(dataset, error) &&
           selection_draw(source, !dataset->facts.paired, dataset->selected, &dataset->facts.images,
                          wanted, error);
}

/* Keeps the share of the images that the seed draws, or the rest. */
static bool divide_images(struct dataset *dataset, const struct spec *spec, struct error *error)
{
    struct dataset_facts *facts = &dataset->facts;
    facts->share = spec->share;
    facts->share_rest = spec->rest;
    facts->share_seed = spec->draw;
    if (!list_images(dataset, error) ||
        !selection_divide(&dataset->source, !facts->paired, dataset->selected, &facts->images,
                          &(struct selection_share){spec->share, spec->draw, spec->rest}, error))
        return false;
    return facts->images > 0 ||
           error_set(error, ERROR_INPUT, spec->text, "give more images or another share",
                     "this share of the images is empty: every class keeps an image for training");
}

/* Takes the first images, and notes how many classes have none among them. */
static void limit_images(struct dataset *dataset, size_t limit)
{
    struct dataset_facts *facts = &dataset->facts;
    const size_t all = facts->images;
    facts->images = limit < all ? limit : all;
    if (facts->paired || facts->images == all)
        return;
    const size_t before = selection_classes(&dataset->source, dataset->selected, all);
    const size_t after = selection_classes(&dataset->source, dataset->selected, facts->images);
    facts->classes_left_out = after > 0 ? before - after : 0;
}

static bool select_images(struct dataset *dataset, const struct spec *spec, struct error *error)
{
    dataset->facts.images = dataset->source.images;
    if (spec->only[0] && !select_class(dataset, spec, error))
        return false;
    if (spec->limit)
        limit_images(dataset, spec->limit);
    return (!spec->sample || draw_images(dataset, spec->sample, error)) &&
           (spec->share == 0 || divide_images(dataset, spec, error));
}

/* --- the fit --- */

static bool refuse_shape(const struct dataset *dataset, const struct dataset_request *request,
                         struct error *error)
{
    const struct source *source = &dataset->source;
    return error_set(error, ERROR_INPUT, dataset->facts.spec,
                     "choose a network for images of this size, another data set, or give the "
                     "images as a folder, which are resized",
                     "its images are %zux%zux%zu (height, width, channels), but the network wants "
                     "%zux%zux%zu",
                     source->height, source->width, source->channels, request->height,
                     request->width, request->channels);
}

/* Returns the side of the stored image for a side of the network's input. */
static size_t stored_side(enum source_fit fit, size_t wanted)
{
    if (fit == SOURCE_PAIR)
        return (wanted * 286 + 128) / 256;
    return wanted >= SMALLEST_256 && wanted <= LARGEST_256 ? 256 : (wanted * 8 + 3) / 7;
}

static bool check_wish(const struct dataset_request *request, struct error *error)
{
    size_t largest = IMAGE_MAX_SIDE / 2;
    if ((request->channels == 1 || request->channels == 3) && request->height && request->width &&
        request->height <= largest && request->width <= largest)
        return true;
    return error_set(error, ERROR_INPUT, "the network's input",
                     "images have 1 or 3 channels and at most 8192 pixels a side",
                     "%zux%zux%zu (height, width, channels) cannot be made of images",
                     request->height, request->width, request->channels);
}

/* Sets the filter and the orientation: those of SPEC, or else of `model`, or else the present
 * defaults. */
static void choose_preprocessing(struct dataset *dataset, const struct spec *spec,
                                 const struct preprocessing *model)
{
    struct preprocessing *p = &dataset->facts.preprocessing;
    *p = model ? *model : (struct preprocessing){.recorded = true};
    p->normalisation = (struct normalisation){0};
    p->recorded |= spec->filter_given || spec->orient_given;
    p->filter = spec->filter_given ? spec->filter : p->filter;
    p->as_stored = spec->orient_given ? spec->as_stored : p->as_stored;
}

/* Returns the side before the crop of a model with this side and crop, in proportion for images
 * with another crop; 0 if the model has none. */
static size_t model_side(size_t stored, size_t crop, size_t wanted)
{
    return crop > 0 ? (stored * wanted + crop / 2) / crop : 0;
}

/* Sets the size of the images before they are cropped: that of the model, if it has recorded one,
 * or as usual for the kind of set. */
static void choose_stored_size(struct dataset *dataset, const struct preprocessing *model)
{
    struct dataset_facts *facts = &dataset->facts;
    const enum source_fit fit = dataset->source.fit;
    const size_t longer = facts->height > facts->width ? facts->height : facts->width;
    const bool follows = fit == SOURCE_CROP && model && model->recorded;
    const size_t height =
        follows ? model_side(model->stored_height, model->height, facts->height) : 0;
    const size_t width = follows ? model_side(model->stored_width, model->width, facts->width) : 0;
    facts->stored_height = facts->height;
    facts->stored_width = facts->width;
    if (fit == SOURCE_PAIR) {
        facts->stored_height = stored_side(SOURCE_PAIR, facts->height);
        facts->stored_width = stored_side(SOURCE_PAIR, facts->width);
    } else if (height >= facts->height && width >= facts->width && height <= IMAGE_MAX_SIDE &&
               width <= IMAGE_MAX_SIDE) {
        facts->stored_height = height;
        facts->stored_width = width;
    } else if (fit == SOURCE_CROP) {
        facts->stored_height = facts->stored_width = stored_side(SOURCE_CROP, longer);
    }
    facts->preprocessing.stretched = fit == SOURCE_PAIR && facts->preprocessing.recorded;
    facts->preprocessing.channels = facts->channels;
    facts->preprocessing.height = facts->height;
    facts->preprocessing.width = facts->width;
    facts->preprocessing.stored_height = facts->stored_height;
    facts->preprocessing.stored_width = facts->stored_width;
}

static bool fit_images(struct dataset *dataset, const struct dataset_request *request,
                       const struct preprocessing *model, struct error *error)
{
    const struct source *source = &dataset->source;
    struct dataset_facts *facts = &dataset->facts;
    struct dataset_request own = {source->channels, source->height, source->width};
    if (!request)
        request = &own;
    bool fixed = source->fit == SOURCE_FIXED;
    if (fixed && (request->channels != source->channels || request->height != source->height ||
                  request->width != source->width))
        return refuse_shape(dataset, request, error);
    if (!check_wish(request, error))
        return false;
    facts->channels = request->channels;
    facts->deep = source->deep && (fixed || request->channels == 1);
    facts->height = request->height;
    facts->width = request->width;
    facts->fixed = fixed;
    choose_stored_size(dataset, model);
    return true;
}

static struct source_request source_request(const struct dataset *dataset)
{
    return (struct source_request){dataset->facts.channels, &dataset->facts.preprocessing};
}

static bool fit_and_count(struct dataset *dataset, const struct dataset_request *request,
                          const struct preprocessing *model, struct error *error)
{
    const struct source *source = &dataset->source;
    if (!fit_images(dataset, request, model, error))
        return false;
    const struct source_request wanted = source_request(dataset);
    if (source->operations->decode_bytes)
        dataset->facts.decode_bytes = source->operations->decode_bytes(source, &wanted);
    return true;
}

/* --- opening --- */

static bool check_options(const struct dataset *dataset, const struct spec *spec,
                          struct error *error)
{
    if (spec->direction_given && !dataset->facts.paired)
        return error_set(error, ERROR_USAGE, spec->text, "leave it out",
                         "direction= is for sets of pairs: pairs:DIR and maps");
    if (spec->broken_given && strcmp(spec->kind, "folder") != 0 && strcmp(spec->kind, "list") != 0)
        return error_set(error, ERROR_USAGE, spec->text, "leave it out",
                         "broken= is for folder:DIR and list:FILE");
    if ((spec->images[0] || spec->labels[0]) && strcmp(spec->kind, "npy") != 0 &&
        strcmp(spec->kind, "npz") != 0)
        return error_set(error, ERROR_USAGE, spec->text, "leave it out",
                         "images= and labels= are for npy:FILE and npz:FILE");
    if (dataset->source.fit == SOURCE_FIXED && (spec->filter_given || spec->orient_given))
        return error_set(error, ERROR_USAGE, spec->text, "leave it out",
                         "filter= and orient= are for pictures that are resized: folder:DIR, "
                         "list:FILE, pairs:DIR, tench and maps");
    return true;
}

static bool open_dataset(struct dataset *dataset, const struct spec *spec,
                         const struct dataset_request *request, const struct preprocessing *model,
                         struct error *error)
{
    const struct dataset_kind *kind = find_kind(spec, error);
    if (!kind)
        return false;
    if (!kind->source->open(&dataset->source, spec, error)) {
        dataset->source.operations = NULL; /* nothing to close */
        return false;
    }
    snprintf(dataset->facts.spec, sizeof dataset->facts.spec, "%s", spec->text);
    dataset->facts.kind = kind->name;
    dataset->facts.paired = dataset->source.fit == SOURCE_PAIR;
    dataset->facts.skipped = dataset->source.skipped;
    dataset->facts.broken = dataset->source.broken;
    dataset->facts.reversed = spec->reversed;
    dataset->facts.generator = kind->argument[0] ? 0 : GENERATOR_VERSION;
    dataset->facts.draw = spec->draw;
    choose_preprocessing(dataset, spec, model);
    return check_options(dataset, spec, error) && fit_and_count(dataset, request, model, error) &&
           set_classes(dataset, spec, error) && select_images(dataset, spec, error);
}

struct dataset *dataset_open(const char *spec_text, const char *default_split,
                             const struct dataset_request *request, struct error *error)
{
    return dataset_open_as(spec_text, default_split, request, NULL, error);
}

struct dataset *dataset_open_as(const char *spec_text, const char *default_split,
                                const struct dataset_request *request,
                                const struct preprocessing *preprocessing, struct error *error)
{
    struct spec spec;
    if (!spec_parse(&spec, spec_text, default_split, error))
        return NULL;
    struct dataset *dataset = memory_new(1, sizeof *dataset, "a data set", error);
    if (!dataset)
        return NULL;
    static const enum content read[] = {CONTENT_NPZ, CONTENT_NPY,  CONTENT_IDX,
                                        CONTENT_PNG, CONTENT_JPEG, CONTENT_UNKNOWN};
    if (open_dataset(dataset, &spec, request, preprocessing, error))
        return dataset;
    content_explain(spec.directory[0] ? spec.directory : spec_text, read, error);
    dataset_free(dataset);
    return NULL;
}

uint64_t dataset_bytes(const char *spec_text, const char *default_split)
{
    struct spec spec;
    if (!spec_parse(&spec, spec_text, default_split, NULL))
        return 0;
    const struct dataset_kind *kind = dataset_kind_of(spec.kind);
    return kind && kind->source->bytes ? kind->source->bytes(&spec) : 0;
}

size_t dataset_expected_classes(const char *spec_text, const char *default_split)
{
    struct spec spec;
    const struct dataset_kind *kind = dataset_kind_of(spec_text);
    if (!kind || !spec_parse(&spec, spec_text, default_split, NULL))
        return 0;
    const size_t found =
        !spec.classes && kind->source->classes ? kind->source->classes(&spec) : spec.classes;
    return found ? found : kind->classes;
}

void dataset_free(struct dataset *dataset)
{
    if (!dataset)
        return;
    for (size_t i = 0; dataset->class_names && i < dataset->facts.classes; i++)
        free(dataset->class_names[i]);
    free(dataset->class_names);
    free(dataset->numbers);
    free(dataset->selected);
    if (dataset->source.operations)
        dataset->source.operations->close(&dataset->source);
    free(dataset);
}

/* --- access --- */

const struct dataset_facts *dataset_facts(const struct dataset *dataset)
{
    return &dataset->facts;
}

const struct source *dataset_source(const struct dataset *dataset)
{
    return &dataset->source;
}

bool dataset_count_classes(const struct dataset *dataset, struct dataset_balance *balance,
                           struct error *error)
{
    const struct dataset_facts *facts = &dataset->facts;
    *balance = (struct dataset_balance){.classes = facts->classes};
    balance->images = memory_new(facts->classes, sizeof *balance->images, "class counts", error);
    if (!balance->images)
        return false;
    for (size_t i = 0; !facts->paired && i < facts->images; i++)
        balance->images[dataset_label(dataset, i)]++;
    balance->most = balance->least = balance->images[0];
    for (size_t i = 0; i < facts->classes; i++) {
        const size_t count = balance->images[i];
        balance->most = count > balance->most ? count : balance->most;
        balance->least = count < balance->least ? count : balance->least;
        balance->empty += count == 0;
    }
    return true;
}

const char *dataset_class_name(const struct dataset *dataset, size_t label)
{
    return label < dataset->facts.classes ? dataset->class_names[label] : "no such class";
}

size_t dataset_source_index(const struct dataset *dataset, size_t index)
{
    return dataset->selected ? dataset->selected[index] : index;
}

size_t dataset_label(const struct dataset *dataset, size_t index)
{
    const size_t label =
        dataset->source.operations->label(&dataset->source, dataset_source_index(dataset, index));
    return dataset->numbers ? dataset->numbers[label] : label;
}

void dataset_origin(const struct dataset *dataset, size_t index, char *text, size_t size)
{
    dataset->source.operations->origin(&dataset->source, dataset_source_index(dataset, index), text,
                                       size);
}

/* Converts and resizes an image from the source to the channels and size of the stored images. */
static bool fit_image(const struct dataset *dataset, bool evaluating, struct image *image,
                      struct error *error)
{
    const struct dataset_facts *facts = &dataset->facts;
    if (!image_convert(image, facts->channels, error))
        return false;
    switch (dataset->source.fit) {
    case SOURCE_CROP:
        return preprocessing_fit(&facts->preprocessing, image, error);
    case SOURCE_PAIR:
        return image_resample(image, evaluating ? facts->width : facts->stored_width,
                              evaluating ? facts->height : facts->stored_height,
                              facts->preprocessing.filter, error);
    case SOURCE_FIXED:
        break;
    }
    return true;
}

bool dataset_image_for(const struct dataset *dataset, size_t index, bool evaluating,
                       struct image *image, struct image *target, struct error *error)
{
    const struct source *source = &dataset->source;
    const struct source_request request = source_request(dataset);
    struct image unwanted = {0};
    if (source->fit == SOURCE_PAIR && !target)
        target = &unwanted;
    *image = (struct image){0};
    if (target)
        *target = (struct image){0};
    bool read = source->operations->read(source, dataset_source_index(dataset, index), &request,
                                         image, target, error) &&
                fit_image(dataset, evaluating, image, error) &&
                (source->fit != SOURCE_PAIR || fit_image(dataset, evaluating, target, error));
    if (read && dataset->facts.reversed) {
        struct image input = *target;
        *target = *image;
        *image = input;
    }
    if (!read) {
        image_free(image);
        if (target)
            image_free(target);
    }
    image_free(&unwanted);
    return read;
}

bool dataset_image(const struct dataset *dataset, size_t index, struct image *image,
                   struct image *target, struct error *error)
{
    if (index >= dataset->facts.images)
        return error_set(error, ERROR_USAGE, dataset->facts.spec, NULL,
                         "there is no image %zu: the set has %zu", index, dataset->facts.images);
    if (!dataset_image_for(dataset, index, false, image, target, error))
        return false;
    if (image_to_bytes(image, error))
        return true;
    image_free(image);
    if (target)
        image_free(target);
    return false;
}
