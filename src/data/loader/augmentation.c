/* The names of the augmentations are a table; its order is that of the canonical text. */
#include "data/loader/augmentation.h"

#include "base/language.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum technique_kind { IS_WORD, IS_CROP, IS_COUNT, IS_NUMBER, IS_COLOR };

static const struct technique {
    const char *name;
    enum technique_kind kind;
    size_t offset;
    double high; /* the greatest strength; the least is 0 */
} techniques[] = {{"yes", IS_WORD, 0, 0},
                  {"crop", IS_CROP, offsetof(struct augmentation, pad), 1024},
                  {"flip", IS_WORD, 0, 0},
                  {"rotate", IS_NUMBER, offsetof(struct augmentation, rotate), 180},
                  {"color", IS_COLOR, 0, 10},
                  {"brightness", IS_NUMBER, offsetof(struct augmentation, brightness), 10},
                  {"contrast", IS_NUMBER, offsetof(struct augmentation, contrast), 10},
                  {"saturation", IS_NUMBER, offsetof(struct augmentation, saturation), 10},
                  {"cutout", IS_COUNT, offsetof(struct augmentation, cutout), 4096},
                  {"mixup", IS_NUMBER, offsetof(struct augmentation, mixup), 100},
                  {"cutmix", IS_NUMBER, offsetof(struct augmentation, cutmix), 100}};

enum { TECHNIQUES = sizeof techniques / sizeof *techniques };

/* --- reading --- */

static bool refuse(const char *text, const char *item, const char *why, struct error *error)
{
    char what[AUGMENTATION_TEXT + 32];
    snprintf(what, sizeof what, "--augment %.150s", text);
    return error_set(error, ERROR_USAGE, what,
                     "give yes or no, or names and strengths, as in "
                     "crop=4,flip,rotate=15,color=0.4,cutout=8,mixup=0.2,cutmix=1",
                     "%.40s: %s", item, language_text(why));
}

static const struct technique *find(const char *name, size_t length)
{
    for (size_t i = 0; i < TECHNIQUES; i++)
        if (strlen(techniques[i].name) == length && memcmp(techniques[i].name, name, length) == 0)
            return &techniques[i];
    return NULL;
}

/* Sets a technique without strength. Returns false if it needs one. */
static bool set_word(struct augmentation *augmentation, const struct technique *technique)
{
    if (technique->kind == IS_CROP || strcmp(technique->name, "yes") == 0)
        augmentation->crop = AUGMENT_CROP_USUAL;
    if (strcmp(technique->name, "yes") == 0)
        augmentation->flip = AUGMENT_FLIP_USUAL;
    if (strcmp(technique->name, "flip") == 0)
        augmentation->flip = AUGMENT_FLIP_ALWAYS;
    return technique->kind == IS_WORD || technique->kind == IS_CROP;
}

/* Sets a technique to a strength. Returns false if it has none or it is out of range. */
static bool set_strength(struct augmentation *augmentation, const struct technique *technique,
                         const char *strength)
{
    void *member = (char *)augmentation + technique->offset;
    double number;
    size_t count;
    if (technique->kind == IS_CROP)
        augmentation->crop = AUGMENT_CROP_GIVEN;
    if (technique->kind == IS_CROP || technique->kind == IS_COUNT) {
        if (!text_to_size(strength, &count) || (double)count > technique->high)
            return false;
        *(size_t *)member = count;
        return true;
    }
    if (technique->kind == IS_WORD || !text_to_double(strength, &number) || !(number >= 0) ||
        number > technique->high)
        return false;
    if (technique->kind == IS_COLOR)
        augmentation->brightness = augmentation->contrast = augmentation->saturation = number;
    else
        *(double *)member = number;
    return true;
}

static bool read_item(struct augmentation *augmentation, const char *text, const char *item,
                      unsigned *named, struct error *error)
{
    const size_t length = strcspn(item, "=");
    const struct technique *technique = find(item, length);
    if (!technique)
        return refuse(text, item, "there is no such augmentation", error);
    const unsigned bit = 1u << (technique - techniques);
    if (*named & bit)
        return refuse(text, item, "it is named twice", error);
    *named |= bit;
    if (!item[length])
        return set_word(augmentation, technique) ||
               refuse(text, item, "it needs a strength", error);
    return set_strength(augmentation, technique, item + length + 1) ||
           refuse(text, item, "this strength is not understood, or out of range", error);
}

/* Returns whether the text is one of the words for yes or no, and sets which. */
static bool is_answer(const char *text, bool *yes)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], text) == 0) {
            *yes = i % 2;
            return true;
        }
    return false;
}

bool augmentation_parse(struct augmentation *augmentation, const char *text, struct error *error)
{
    struct augmentation read = {0};
    char copy[AUGMENTATION_TEXT];
    unsigned named = 0;
    bool yes;
    if (is_answer(text, &yes)) {
        if (yes)
            set_word(&read, &techniques[0]);
        *augmentation = read;
        return true;
    }
    if (strlen(text) >= sizeof copy)
        return refuse(text, text, "it is too long", error);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *item = copy, *end; item; item = end) {
        end = strchr(item, ',');
        if (end)
            *end++ = '\0';
        if (!read_item(&read, text, item, &named, error))
            return false;
    }
    if ((named & 1) && (named & 6)) /* yes beside crop or flip */
        return refuse(text, "yes", "it stands for crop and flip; name these or it", error);
    *augmentation = read;
    return true;
}

/* --- writing --- */

/* Returns whether brightness, contrast and saturation have one strength, which "color" names. */
static bool has_one_color(const struct augmentation *a)
{
    return a->brightness > 0 && a->brightness == a->contrast && a->contrast == a->saturation;
}

/* Returns whether the canonical text has this technique. */
static bool is_written(const struct augmentation *a, const struct technique *technique)
{
    const void *member = (const char *)a + technique->offset;
    const bool usual = a->crop == AUGMENT_CROP_USUAL && a->flip == AUGMENT_FLIP_USUAL;
    const bool color =
        member == &a->brightness || member == &a->contrast || member == &a->saturation;
    switch (technique->kind) {
    case IS_WORD:
        return technique->name[0] == 'y' ? usual : a->flip != AUGMENT_FLIP_NONE && !usual;
    case IS_CROP:
        return a->crop != AUGMENT_CROP_NONE && !usual;
    case IS_COUNT:
        return *(const size_t *)member > 0;
    case IS_COLOR:
        return has_one_color(a);
    default:
        return *(const double *)member > 0 && !(color && has_one_color(a));
    }
}

/* Appends a strength with the fewest digits that read back as the same number. */
static void append_number(char *text, size_t size, double value)
{
    char number[32];
    double back;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (text_to_double(number, &back) && back == value)
            break;
    }
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "=%s", number);
}

static void append(const struct augmentation *a, const struct technique *technique, char *text,
                   size_t size)
{
    const void *member = (const char *)a + technique->offset;
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? "," : "", technique->name);
    if (technique->kind == IS_COUNT ||
        (technique->kind == IS_CROP && a->crop == AUGMENT_CROP_GIVEN)) {
        const size_t name = strlen(text);
        snprintf(text + name, size - name, "=%zu", *(const size_t *)member);
    } else if (technique->kind == IS_NUMBER || technique->kind == IS_COLOR) {
        append_number(text, size,
                      technique->kind == IS_COLOR ? a->brightness : *(const double *)member);
    }
}

char *augmentation_format(const struct augmentation *augmentation, char *text, size_t size)
{
    if (size == 0)
        return text;
    text[0] = '\0';
    for (size_t i = 0; i < TECHNIQUES; i++)
        if (is_written(augmentation, &techniques[i]))
            append(augmentation, &techniques[i], text, size);
    if (!text[0])
        snprintf(text, size, "no");
    return text;
}

/* --- a data set --- */

/* Sets the usual border: four pixels for photographs of 32x32; larger images are larger than their
 * crop and have none. */
struct augmentation augmentation_for(const struct augmentation *augmentation,
                                     const struct dataset_facts *facts)
{
    struct augmentation fitted = *augmentation;
    const bool small = facts->channels == 3 && facts->height == 32 && facts->stored_height == 32;
    if (fitted.crop == AUGMENT_CROP_USUAL)
        fitted.pad = small ? 4 : 0;
    return fitted;
}

static bool check_pairs(const struct augmentation *augmentation, const struct dataset_facts *facts,
                        struct error *error)
{
    const bool colors =
        augmentation->brightness > 0 || augmentation->contrast > 0 || augmentation->saturation > 0;
    if (!facts->paired || (!colors && !augmentation->cutout && !augmentation_mixes(augmentation)))
        return true;
    return error_set(error, ERROR_USAGE, "--augment", "leave these out",
                     "the examples of %s are pairs of pictures, which color, cutout, mixup and "
                     "cutmix would make differ",
                     facts->spec);
}

bool augmentation_check(const struct augmentation *augmentation, const struct dataset_facts *facts,
                        size_t batch, struct error *error)
{
    const size_t side = facts->width > facts->height ? facts->width : facts->height;
    if (augmentation->crop != AUGMENT_CROP_NONE &&
        (augmentation->pad >= facts->width || augmentation->pad >= facts->height))
        return error_set(error, ERROR_USAGE, "--augment", "crop=4 is usual for 32x32",
                         "a border of %zu around images of %zux%zu", augmentation->pad,
                         facts->width, facts->height);
    if (augmentation->cutout > side)
        return error_set(error, ERROR_USAGE, "--augment", "cutout=8 is usual for 32x32",
                         "a square of %zu pixels on images of %zux%zu", augmentation->cutout,
                         facts->width, facts->height);
    if (augmentation_mixes(augmentation) && batch < 2)
        return error_set(error, ERROR_USAGE, "--augment", "give --batch 2 or more",
                         "mixup and cutmix mix the images of a batch, and it has only one");
    return check_pairs(augmentation, facts, error);
}
