/* Two values differ if they would have another effect: a number of epochs has none where iterations
 * are given. Most values of two runs are the same bytes, which is looked at first, since lists ask
 * for thousands of runs. */
#include "runs/settings/config_differences.h"

#include "base/language.h"
#include "runs/settings/config_paths.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_SIZE = 512, LABEL_SIZE = 2 * VALUE_SIZE };

static bool has_equal_bytes(const struct run_config *a, const struct run_config *b,
                            const struct config_field *field)
{
    const char *first = (const char *)a + field->offset, *second = (const char *)b + field->offset;
    if (field->kind == CONFIG_TEXT) /* the bytes after the NUL do not count */
        return strncmp(first, second, field->size) == 0;
    return memcmp(first, second, field->size) == 0;
}

/* Writes the value of a field as it counts: a number of iterations replaces the epochs. Returns
 * `text`. */
static char *effective_value(const struct run_config *config, const struct config_field *field,
                             char *text, size_t size)
{
    if (config_counts(config, field))
        return config_get(config, field->key, text, size);
    text[0] = '\0';
    return text;
}

bool config_field_equal(const struct run_config *a, const struct run_config *b,
                        const struct config_field *field)
{
    const bool same_bytes = has_equal_bytes(a, b, field);
    if (same_bytes && a->has_iterations == b->has_iterations)
        return true;
    if (field->about != ABOUT_LENGTH)
        return same_bytes;
    char first[VALUE_SIZE], second[VALUE_SIZE]; /* has_iterations decides which length counts */
    return strcmp(effective_value(a, field, first, sizeof first),
                  effective_value(b, field, second, sizeof second)) == 0;
}

bool config_equal(const struct run_config *a, const struct run_config *b,
                  enum config_comparison comparison)
{
    bool equal = true;
    for (size_t i = 0; equal && i < config_field_count; i++)
        equal =
            config_fields[i].ignored_by & comparison || config_field_equal(a, b, &config_fields[i]);
    return equal;
}

static bool differs(const struct run_config *const *configs, size_t count,
                    const struct config_field *field)
{
    for (size_t i = 1; i < count; i++)
        if (!config_field_equal(configs[0], configs[i], field))
            return true;
    return false;
}

size_t config_differences(const struct run_config *const *configs, size_t count,
                          const struct config_field **fields)
{
    size_t found = 0;
    for (size_t i = 0; i < config_field_count && found < CONFIG_MAX_FIELDS; i++)
        if (!(config_fields[i].ignored_by & COMPARE_LABELS) &&
            differs(configs, count, &config_fields[i]))
            fields[found++] = &config_fields[i];
    return found;
}

/* Writes the network's name, with its technique unless that is a field of the label, too:
 * "resnet20-dsc". */
static void network_value(const struct run_config *config, const struct config_field *const *fields,
                          size_t count, char *text, size_t size)
{
    char technique[32];
    bool apart =
        strcmp(config_get(config, KEY(technique), technique, sizeof technique), "none") == 0;
    for (size_t i = 0; i < count; i++)
        apart |= strcmp(fields[i]->key, KEY(technique)) == 0;
    config_network_name(config->network, text, size);
    const size_t end = strlen(text);
    if (!apart)
        snprintf(text + end, size - end, "-%s", technique);
}

/* Writes a label in which `bare_count` - 1 fields from the second on have no key before their
 * values. The first field loses its key last, if `bare_count` is above `count`: "3, lr 0.01" would
 * not say what is 3. */
static char *write_label(const struct run_config *config, const struct config_field *const *fields,
                         size_t count, size_t bare_count, char *text, size_t size)
{
    char value[VALUE_SIZE];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        effective_value(config, fields[i], value, sizeof value);
        /* "none" alone would not say what is absent */
        const bool bare =
            ((i > 0 ? i < bare_count : bare_count > count) || fields[i]->told.by_value) &&
            value[0] && strcmp(value, "none") != 0;
        if (strcmp(fields[i]->key, KEY(network)) == 0)
            network_value(config, fields, count, value, sizeof value);
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", i > 0 ? ", " : "",
                                 bare ? "" : fields[i]->key, bare ? "" : " ",
                                 value[0] ? value : _("none"));
    }
    return text;
}

char *config_difference_label(const struct run_config *config,
                              const struct config_field *const *fields, size_t count, char *text,
                              size_t size)
{
    return write_label(config, fields, count, 0, text, size);
}

/* --- labels of a moderate length --- */

static size_t longest_label(const struct run_config *const *configs, size_t count,
                            const struct config_field *const *fields, size_t field_count)
{
    char label[LABEL_SIZE];
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length =
            strlen(config_difference_label(configs[i], fields, field_count, label, sizeof label));
        longest = length > longest ? length : longest;
    }
    return longest;
}

static bool has_other_difference(const struct run_config *a, const struct run_config *b,
                                 const struct config_field *const *fields, size_t field_count,
                                 size_t left_out)
{
    for (size_t i = 0; i < field_count; i++)
        if (i != left_out && !has_equal_bytes(a, b, fields[i]))
            return true;
    return false;
}

/* Returns whether two configurations differ in field number `at` only. */
static bool is_needed(const struct run_config *const *configs, size_t count,
                      const struct config_field *const *fields, size_t field_count, size_t at)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (!has_equal_bytes(configs[i], configs[k], fields[at]) &&
                !has_other_difference(configs[i], configs[k], fields, field_count, at))
                return true;
    return false;
}

/* Returns when a field is left out, the lowest first; TOLD_ALWAYS: never. */
static int turn_of(const struct config_field *field)
{
    const int behind = 2 * CONFIG_MAX_FIELDS - (int)(field - config_fields);
    return field->told.turn ? field->told.turn : behind;
}

size_t config_differences_shorten(const struct run_config *const *configs, size_t count,
                                  const struct config_field **fields, size_t field_count,
                                  size_t length)
{
    for (int turn = 1; turn <= 2 * CONFIG_MAX_FIELDS; turn++)
        for (size_t i = field_count; i-- > 0;) {
            if (turn_of(fields[i]) != turn || is_needed(configs, count, fields, field_count, i) ||
                longest_label(configs, count, fields, field_count) <= length)
                continue;
            memmove(&fields[i], &fields[i + 1], (--field_count - i) * sizeof *fields);
        }
    return field_count;
}

/* --- a short label that no other configuration has --- */

/* A label while its fields are chosen. */
struct choice {
    const struct run_config *const *configs;
    size_t count, at;
    const struct config_field *const *fields;
    size_t field_count;
    bool chosen[CONFIG_MAX_FIELDS];
};

/* Writes the label. Keys are left out, that of the first field last, while it has more than
 * `length` bytes; a single value would say nothing without its key. */
static char *write_choice(const struct choice *choice, size_t length, char *text, size_t size)
{
    const struct config_field *fields[CONFIG_MAX_FIELDS] = {0};
    const struct run_config *config = choice->configs[choice->at];
    size_t count = 0, bare_count = 0;
    for (size_t i = 0; i < choice->field_count; i++)
        if (choice->chosen[i])
            fields[count++] = choice->fields[i];
    const size_t most = count > 1 ? count + 1 : 0;
    while (strlen(write_label(config, fields, count, bare_count, text, size)) > length &&
           bare_count < most)
        bare_count++;
    return text;
}

/* Returns whether configuration `other` has another value in field number `at`. */
static bool is_other(const struct choice *choice, size_t other, size_t at)
{
    return !config_field_equal(choice->configs[choice->at], choice->configs[other],
                               choice->fields[at]);
}

/* Returns whether configuration `other` has the same values in all fields that are chosen. */
static bool looks_alike(const struct choice *choice, size_t other)
{
    for (size_t i = 0; i < choice->field_count; i++)
        if (choice->chosen[i] && is_other(choice, other, i))
            return false;
    return true;
}

/* Returns whether a field tells more about a run than another one. */
static bool tells_more(const struct config_field *field, const struct config_field *other)
{
    const int turn = turn_of(field), other_turn = turn_of(other);
    return turn < 0 ? other_turn >= 0 : other_turn >= 0 && turn > other_turn;
}

/* Chooses the field in which the most configurations differ that still look alike. Returns false if
 * there is none. */
static bool choose_telling(struct choice *choice)
{
    size_t differ[CONFIG_MAX_FIELDS] = {0}, best = choice->field_count;
    for (size_t k = 0; k < choice->count; k++) {
        const bool alike = looks_alike(choice, k);
        for (size_t i = 0; alike && i < choice->field_count; i++)
            differ[i] += is_other(choice, k, i);
    }
    for (size_t i = 0; i < choice->field_count; i++)
        if (differ[i] > 0 &&
            (best == choice->field_count || differ[i] > differ[best] ||
             (differ[i] == differ[best] && tells_more(choice->fields[i], choice->fields[best]))))
            best = i;
    if (best < choice->field_count)
        choice->chosen[best] = true;
    return best < choice->field_count;
}

/* Returns whether the value of a field is none, which is worth its place only if it is needed. */
static bool says_none(const struct choice *choice, size_t at)
{
    char value[VALUE_SIZE];
    effective_value(choice->configs[choice->at], choice->fields[at], value, sizeof value);
    return !value[0] || strcmp(value, "none") == 0;
}

/* Chooses the most telling further field with which the label still fits. Returns false if there is
 * none. */
static bool choose_further(struct choice *choice, size_t length)
{
    char label[LABEL_SIZE];
    size_t best = choice->field_count;
    for (size_t i = 0; i < choice->field_count; i++) {
        if (choice->chosen[i] || says_none(choice, i))
            continue;
        choice->chosen[i] = true;
        const bool fits = strlen(write_choice(choice, SIZE_MAX, label, sizeof label)) <= length;
        choice->chosen[i] = false;
        if (fits &&
            (best == choice->field_count || tells_more(choice->fields[i], choice->fields[best])))
            best = i;
    }
    if (best < choice->field_count)
        choice->chosen[best] = true;
    return best < choice->field_count;
}

char *config_distinct_label(const struct run_config *const *configs, size_t count, size_t at,
                            const struct config_field *const *fields, size_t field_count,
                            size_t length, char *text, size_t size)
{
    struct choice choice = {configs, count, at, fields, field_count, {false}};
    if (strlen(config_difference_label(configs[at], fields, field_count, text, size)) <= length)
        return text;
    while (choose_telling(&choice))
        continue;
    while (choose_further(&choice, length))
        continue;
    return write_choice(&choice, length, text, size);
}
