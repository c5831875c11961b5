/* Looks all parameters up before it reads the first one, so that an error can list every mismatch.
 * A mapping renames the entries of the opened file in memory, so the rest sees the network's names
 * only. */
#include "engine/weights/weights_match.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/graph/name_pattern.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An error is one line of limited length. The three lists share what its text holds; each shows at
 * least one array, so long names are cut. */

enum {
    LIST_SIZE = 320,  /* bytes of the longest list */
    LISTS_SIZE = 300, /* bytes of all lists, without the words around them */
    NAME_LENGTH = 56,
    ENTRY_SIZE = 128, /* a name with its shapes */
    MORE_SIZE = 32    /* bytes of "and 12345 more" at most */
};

/* Names of arrays, as many as fit. */
struct list {
    char text[LIST_SIZE];
    size_t used, space; /* in bytes */
    size_t count, shown;
};

enum { MISSING, SHAPE, LEFT, LISTS };

static char *write_shape(const size_t *dims, size_t rank, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", rank ? "" : "1");
    for (size_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? "x" : "", dims[i]);
    return text;
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Copies a name. A long one loses its middle, because the ends tell arrays apart. */
static const char *shorten(const char *name, char *text, size_t size)
{
    const size_t length = strlen(name);
    size_t head = NAME_LENGTH / 2, tail = length - NAME_LENGTH / 2;
    if (length <= NAME_LENGTH) {
        snprintf(text, size, "%s", name);
        return text;
    }
    while (head > 0 && continues(name[head]))
        head--;
    while (continues(name[tail]))
        tail++;
    snprintf(text, size, "%.*s...%s", (int)head, name, name + tail);
    return text;
}

/* Adds an entry if there is space for it, and counts it. */
static void add(struct list *list, const char *entry)
{
    const size_t length = strlen(entry) + (list->shown ? 2 : 0);
    list->count++;
    if (list->shown + 1 < list->count || (list->shown && list->used + length > list->space) ||
        list->used + length >= sizeof list->text)
        return;
    snprintf(list->text + list->used, sizeof list->text - list->used, "%s%s",
             list->shown ? ", " : "", entry);
    list->used += length;
    list->shown++;
}

static void add_parameter(struct list lists[LISTS], const struct weights_pairing *pairing,
                          const struct parameter *parameter)
{
    char entry[ENTRY_SIZE], name[NAME_LENGTH + 8], here[32], there[32];
    size_t i = 0;
    const enum weights_fit fit = weights_pairing_fit(pairing, parameter, &i);
    if (fit != WEIGHTS_FIT_MISSING && fit != WEIGHTS_FIT_SHAPE)
        return;
    shorten(parameter->name, name, sizeof name);
    write_shape(parameter->dims, parameter->rank, here, sizeof here);
    if (fit == WEIGHTS_FIT_MISSING) {
        snprintf(entry, sizeof entry, "%s (%s)", name, here);
        add(&lists[MISSING], entry);
        return;
    }
    const struct safetensors_entry *found = &pairing->file.entries[i];
    write_shape(found->dims, found->rank, there, sizeof there);
    if (strcmp(here, there) == 0)
        snprintf(entry, sizeof entry, _("%s (%s, no floats)"), name, there);
    else
        snprintf(entry, sizeof entry, _("%s (%s, not %s)"), name, there, here);
    add(&lists[SHAPE], entry);
}

static void add_all(struct list lists[LISTS], const struct weights_pairing *pairing)
{
    char name[NAME_LENGTH + 8];
    for (size_t p = 0; p < pairing->graph->parameter_count; p++)
        add_parameter(lists, pairing, &pairing->graph->parameters[p]);
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i))
            add(&lists[LEFT], shorten(pairing->original[i].name, name, sizeof name));
}

/* Appends a list, whose heading names its count, to a text. */
static void append(char *text, size_t size, const char *heading, const struct list *list)
{
    const size_t used = strlen(text);
    char more[MORE_SIZE] = "";
    if (list->count == 0)
        return;
    if (list->count > list->shown)
        snprintf(more, sizeof more,
                 ngettext(" and %zu more", " and %zu more", list->count - list->shown),
                 list->count - list->shown);
    snprintf(text + used, size - used, "%s%s (%zu): %s%s", used ? "; " : "", language_text(heading),
             list->count, list->text, more);
}

/* Fills `error` with the arrays that are missing from the file, those that have another shape in
 * it, and those that it has besides, and returns false. Each of the three lists ends with how many
 * more there are if it is long. The caller has found that an array of the network does not fit. */
static bool weights_mismatches_refuse(const struct weights_pairing *pairing, struct error *error)
{
    struct list lists[LISTS] = {0};
    char text[sizeof error->why - 64] = "";
    size_t kinds = 0;
    add_all(lists, pairing);
    for (size_t i = 0; i < LISTS; i++)
        kinds += lists[i].count > 0;
    memset(lists, 0, sizeof lists);
    for (size_t i = 0; kinds && i < LISTS; i++)
        lists[i].space = LISTS_SIZE / kinds;
    add_all(lists, pairing);
    append(text, sizeof text, N_("missing"), &lists[MISSING]);
    append(text, sizeof text, N_("of another shape"), &lists[SHAPE]);
    append(text, sizeof text, N_("left over"), &lists[LEFT]);
    return error_set(error, ERROR_INPUT, pairing->file.path,
                     "tinca weights FILE --network NET shows all; begin such layers anew with "
                     "--reset, or take the network that the file was saved from",
                     "its arrays do not fit the network; %s", text);
}

static bool has_shape(const struct safetensors *file, const struct safetensors_entry *entry,
                      const struct parameter *parameter)
{
    return safetensors_has_numbers(file, entry) && entry->rank == parameter->rank &&
           memcmp(entry->dims, parameter->dims, parameter->rank * sizeof *entry->dims) == 0;
}

/* --- the pairing --- */

/* Returns whether the file's array has the parameter's shape for another number of outputs. */
static bool has_other_outputs(const struct safetensors *file, const struct safetensors_entry *entry,
                              const struct parameter *parameter)
{
    return safetensors_has_numbers(file, entry) && entry->rank == parameter->rank &&
           entry->dims[0] != parameter->dims[0] &&
           memcmp(entry->dims + 1, parameter->dims + 1,
                  (parameter->rank - 1) * sizeof *entry->dims) == 0;
}

/* Returns whether a parameter keeps its values although the file has values for it. */
static bool is_reset(const struct weights_pairing *pairing, const struct parameter *parameter)
{
    const struct safetensors_entry *found;
    if (name_pattern_matches(pairing->reset, parameter->name))
        return true;
    if (pairing->outputs == WEIGHTS_OUTPUTS_READ || !pairing->is_output[parameter->node])
        return false;
    found = safetensors_find(&pairing->file, parameter->name);
    return pairing->outputs == WEIGHTS_OUTPUTS_RESET ||
           (found && has_other_outputs(&pairing->file, found, parameter));
}

enum weights_fit weights_pairing_fit(const struct weights_pairing *pairing,
                                     const struct parameter *parameter, size_t *entry)
{
    const struct safetensors_entry *found = safetensors_find(&pairing->file, parameter->name);
    if (is_reset(pairing, parameter))
        return WEIGHTS_FIT_RESET;
    if (!found)
        return weights_names_is_identity(&pairing->mapping, parameter->name) ? WEIGHTS_FIT_IDENTITY
                                                                             : WEIGHTS_FIT_MISSING;
    *entry = (size_t)(found - pairing->file.entries);
    return has_shape(&pairing->file, found, parameter) ? WEIGHTS_FIT_LOADED : WEIGHTS_FIT_SHAPE;
}

size_t weights_pairing_mismatches(const struct weights_pairing *pairing)
{
    size_t mismatches = 0, entry;
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const enum weights_fit fit =
            weights_pairing_fit(pairing, &pairing->graph->parameters[p], &entry);
        mismatches += fit == WEIGHTS_FIT_MISSING || fit == WEIGHTS_FIT_SHAPE;
    }
    return mismatches;
}

size_t weights_pairing_unused(const struct weights_pairing *pairing)
{
    size_t unused = 0;
    for (size_t i = 0; i < pairing->file.count; i++)
        unused += !weights_pairing_uses(pairing, i);
    return unused;
}

/* Renames the entries by the pairing's mapping. */
static bool rename_entries(struct weights_pairing *pairing, struct error *error)
{
    for (size_t i = 0; i < pairing->file.count; i++)
        weights_names_translate(&pairing->mapping, pairing->original[i].name,
                                pairing->file.entries[i].name,
                                sizeof pairing->file.entries[i].name);
    return safetensors_index_names(&pairing->file, error);
}

static bool use_mapping(struct weights_pairing *pairing, const char *name, struct error *error)
{
    weights_names_free(&pairing->mapping);
    pairing->names[0] = '\0';
    if (name[0] && !weights_names_read(&pairing->mapping, name, error))
        return false;
    snprintf(pairing->names, sizeof pairing->names, "%s", name);
    return rename_entries(pairing, error);
}

/* Takes the built-in mapping with the fewest mismatches, or none; of those with as many, the one
 * that leaves the fewest arrays of the file unused. */
static bool choose_mapping(struct weights_pairing *pairing, struct error *error)
{
    size_t fewest = weights_pairing_mismatches(pairing), least = weights_pairing_unused(pairing);
    const char *best = "";
    for (size_t i = 0; fewest + least > 0 && i < weights_names_builtin_count; i++) {
        if (!use_mapping(pairing, weights_names_builtins[i].name, error))
            return false;
        const size_t mismatches = weights_pairing_mismatches(pairing);
        const size_t unused = weights_pairing_unused(pairing);
        if (mismatches < fewest || (mismatches == fewest && unused < least)) {
            fewest = mismatches;
            least = unused;
            best = weights_names_builtins[i].name;
        }
    }
    return use_mapping(pairing, best, error);
}

bool weights_pairing_open(struct weights_pairing *pairing, const struct graph *graph,
                          const struct weights_source *source, struct error *error)
{
    *pairing = (struct weights_pairing){
        .graph = graph, .reset = source->reset, .outputs = source->outputs};
    if (!name_pattern_check(source->reset, graph, "--reset", error) ||
        !safetensors_open(&pairing->file, source->path, error))
        return false;
    const size_t count = pairing->file.count;
    pairing->original =
        memory_new(count ? count : 1, sizeof *pairing->original, source->path, error);
    pairing->is_output =
        memory_new(graph->node_count, sizeof *pairing->is_output, source->path, error);
    if (pairing->original && count)
        memcpy(pairing->original, pairing->file.entries, count * sizeof *pairing->original);
    if (pairing->is_output)
        graph_mark_outputs(graph, pairing->is_output); /* none, if other layers read them */
    if (pairing->original && pairing->is_output &&
        (source->names[0] ? use_mapping(pairing, source->names, error)
                          : choose_mapping(pairing, error)))
        return true;
    weights_pairing_close(pairing);
    return false;
}

void weights_pairing_close(struct weights_pairing *pairing)
{
    weights_names_free(&pairing->mapping);
    free(pairing->original);
    free(pairing->is_output);
    safetensors_close(&pairing->file);
    *pairing = (struct weights_pairing){0};
}

/* Returns the parameter that an entry is subtracted from, or NULL. */
static const struct parameter *find_reduced(const struct weights_pairing *pairing, size_t i)
{
    char target[sizeof pairing->file.entries->name];
    if (!weights_names_subtracts(&pairing->mapping, pairing->original[i].name, target,
                                 sizeof target))
        return NULL;
    const struct parameter *parameter = graph_find_parameter(pairing->graph, target);
    return parameter && has_shape(&pairing->file, &pairing->file.entries[i], parameter) ? parameter
                                                                                        : NULL;
}

bool weights_pairing_uses(const struct weights_pairing *pairing, size_t i)
{
    if (weights_names_is_counter(pairing->original[i].name))
        return true;
    const struct parameter *parameter =
        graph_find_parameter(pairing->graph, pairing->file.entries[i].name);
    if (!parameter)
        parameter = find_reduced(pairing, i);
    return parameter && !is_reset(pairing, parameter);
}

static void count_unused(const struct weights_pairing *pairing, struct weights_match *match)
{
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i) && match->unused++ == 0)
            snprintf(match->example, sizeof match->example, "%s", pairing->original[i].name);
}

/* Returns how many outputs the file's output layers have, if those of the network begin anew. */
static size_t outputs_reset(const struct weights_pairing *pairing)
{
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const struct parameter *parameter = &pairing->graph->parameters[p];
        const struct safetensors_entry *found = safetensors_find(&pairing->file, parameter->name);
        if (found && found->rank > 0 && pairing->is_output[parameter->node] &&
            is_reset(pairing, parameter))
            return found->dims[0];
    }
    return 0;
}

/* --- reading --- */

void weights_fill_identity(const struct graph *graph, const struct parameter *parameter,
                           float *values)
{
    const char *suffix = strrchr(parameter->name, '.');
    const size_t *dims = parameter->dims;
    for (size_t i = 0; i < parameter->count; i++)
        values[i] = parameter->rank == 1 && strcmp(suffix, ".weight") == 0 ? 1 : 0;
    if (strcmp(suffix, ".running_var") == 0)
        for (size_t i = 0; i < parameter->count; i++)
            values[i] = 1 - graph->nodes[parameter->node].attributes.batch_norm.epsilon;
    if (parameter->rank != 4)
        return;
    const size_t kernel = dims[2] * dims[3], before = dims[0] > dims[1] ? dims[0] - dims[1] : 0;
    for (size_t c = 0; c < dims[1] && c + before / 2 < dims[0]; c++)
        values[((c + before / 2) * dims[1] + c) * kernel + kernel / 2] = 1;
}

static bool read_parameter(struct weights_pairing *pairing, const struct parameter *parameter,
                           float *values, struct weights_match *match, struct error *error)
{
    size_t entry = 0;
    switch (weights_pairing_fit(pairing, parameter, &entry)) {
    case WEIGHTS_FIT_LOADED:
        match->loaded++;
        return safetensors_read_floats(&pairing->file, &pairing->file.entries[entry], 0,
                                       parameter->count, values, error) &&
               weights_check_scales(parameter, values, pairing->file.path, error);
    case WEIGHTS_FIT_IDENTITY:
        match->identities++;
        weights_fill_identity(pairing->graph, parameter, values);
        return true;
    case WEIGHTS_FIT_RESET:
        match->reset++;
        return true;
    default: /* weights_begin has refused it */
        return true;
    }
}

/* Subtracts the entries that the mapping lists. */
static bool subtract(struct weights_pairing *pairing, struct weights *weights, struct error *error)
{
    bool read = true;
    for (size_t i = 0; read && i < pairing->file.count; i++) {
        const struct parameter *parameter = find_reduced(pairing, i);
        if (!parameter || is_reset(pairing, parameter))
            continue;
        float *values = memory_new(parameter->count, sizeof *values, "an array", error);
        read = values && safetensors_read_floats(&pairing->file, &pairing->file.entries[i], 0,
                                                 parameter->count, values, error);
        for (size_t v = 0; read && v < parameter->count; v++)
            weights->values[parameter->offset + v] -= values[v];
        free(values);
    }
    return read;
}

static bool read_all(struct weights_pairing *pairing, struct weights *weights,
                     struct weights_match *match, struct error *error)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (!read_parameter(pairing, &graph->parameters[p],
                            weights->values + graph->parameters[p].offset, match, error))
            return false;
    return subtract(pairing, weights, error);
}

bool weights_begin(struct weights *weights, const struct weights_source *source,
                   struct weights_match *match, struct error *error)
{
    struct weights_pairing pairing;
    *match = (struct weights_match){0};
    if (!weights_pairing_open(&pairing, weights->graph, source, error))
        return false;
    const bool fits =
        weights_pairing_mismatches(&pairing) == 0 || weights_mismatches_refuse(&pairing, error);
    const bool read =
        fits &&
        (!safetensors_has_checksum(&pairing.file) || safetensors_check(&pairing.file, error)) &&
        read_all(&pairing, weights, match, error);
    count_unused(&pairing, match);
    match->outputs = outputs_reset(&pairing);
    snprintf(match->names, sizeof match->names, "%s", pairing.names);
    weights_pairing_close(&pairing);
    weights_mark_changed(weights);
    return read;
}

/* --- the order of the outputs --- */

/* Returns whether the layer computes each channel by itself, so that the channels may change
 * places. */
static bool ignores_order(const struct node *node)
{
    const struct op *op = node->op;
    return op != &op_lrn && op != &op_channel_shuffle && op != &op_channel_shift &&
           (op != &op_conv || node->attributes.conv.groups == 1);
}

/* Puts the rows of an array, one for each output, into another order. */
static bool order_rows(const struct parameter *parameter, const size_t *numbers, float *values,
                       struct error *error)
{
    const size_t rows = parameter->dims[0], length = parameter->count / rows;
    float *before = memory_new(parameter->count, sizeof *before, "the output layers", error);
    if (!before)
        return false;
    memcpy(before, values, parameter->count * sizeof *before);
    for (size_t i = 0; i < rows; i++)
        memcpy(values + i * length, before + numbers[i] * length, length * sizeof *before);
    free(before);
    return true;
}

/* Returns whether the outputs can change places, and marks their layers. */
static bool mark_ordered(const struct graph *graph, bool *marks)
{
    bool can = graph_mark_outputs(graph, marks);
    for (size_t i = 0; can && i < graph->node_count; i++)
        can = !marks[i] || ignores_order(&graph->nodes[i]);
    return can;
}

bool weights_order_outputs(struct weights *weights, const size_t *numbers, struct error *error)
{
    const struct graph *graph = weights->graph;
    bool *marks = memory_new(graph->node_count, sizeof *marks, "the output layers", error);
    bool ordered = marks;
    if (marks && !mark_ordered(graph, marks))
        ordered = error_set(error, ERROR_UNSUPPORTED, "the output layers",
                            "list the pictures in a file (list:FILE) with the numbers of the "
                            "model's classes",
                            "the data has the model's classes in another order, but the outputs "
                            "of this network cannot change places");
    for (size_t p = 0; ordered && p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (marks[parameter->node] && parameter->rank > 0 &&
            parameter->dims[0] == graph_classes(graph))
            ordered = order_rows(parameter, numbers, weights->values + parameter->offset, error);
    }
    free(marks);
    weights_mark_changed(weights);
    return ordered;
}
