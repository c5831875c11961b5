/* An error is one line of limited length. The three lists share what its text holds; each shows at
 * least one array, so long names are cut. */
#include "engine/weights/weights_misfits.h"

#include "base/language.h"

#include <stdio.h>
#include <string.h>

enum {
    LIST_SIZE = 320,  /* of the longest list */
    LISTS_SIZE = 300, /* of all, without the words around them */
    NAME_LENGTH = 56,
    ENTRY_SIZE = 128, /* a name with its shapes */
    MORE_SIZE = 32    /* what "and 12345 more" takes at most */
};

/* Names of arrays as far as there is space for them. */
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

bool weights_misfits_refuse(const struct weights_pairing *pairing, struct error *error)
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
