/* Each source looks at the text before the cursor and decides which part of it is being typed. */
#include "ui/shared/completion_sources.h"

#include "base/language.h"
#include "data/dataset/dataset.h"
#include "data/images/spec.h"
#include "data/images/spec_value.h"
#include "ui/widgets/completion.h"

#include <stdio.h>
#include <string.h>

bool completion_has_source(const struct config_field *field)
{
    const bool paths = field->holds == HOLDS_WEIGHTS || field->holds == HOLDS_MODEL ||
                       field->holds == HOLDS_FOLDER;
    return field->kind == CONFIG_TEXT && !field->choices &&
           (config_suggestion(field->key, 0) || paths);
}

/* Adds the earlier value, unless it is the present one. */
static void add_typed(struct completion *completion, const char *text,
                      const struct completion_subject *subject)
{
    if (subject->typed[0] && strcmp(subject->typed, text) != 0)
        completion_add(completion, subject->typed, _("as typed"), false);
}

/* --- networks --- */

/* Adds `name` with a suffix if there is a network of that name: not every technique changes every
 * network. */
static void add_suffixed(struct completion *completion, const char *name, const char *suffix,
                         const char *note)
{
    char text[COMPLETION_TEXT];
    struct error error;
    if (snprintf(text, sizeof text, "%s-%s", name, suffix) >= (int)sizeof text ||
        (!completion->all && strncmp(text, completion->stem, strlen(completion->stem)) != 0))
        return;
    struct network *network =
        network_build(&(struct network_request){.network = text, .classes = 10}, &error);
    if (network)
        completion_add(completion, text, note, false);
    network_free(network);
}

/* Adds the suffixes that can follow the name before the last '-', or the whole name if it is one.
 */
static void add_suffixes(struct completion *completion, const char *text)
{
    static const struct {
        const char *suffix, *note;
    } others[] = {{"2", N_("width rate: half of every width")},
                  {"0.5", N_("width rate: twice every width")},
                  {"2.4_block", N_("block rate: residual blocks become bottlenecks")},
                  {"w800x400", N_("widths of the hidden layers")},
                  {"tanh", N_("activation")},
                  {"sigmoid", N_("activation")}};
    char name[COMPLETION_TEXT];
    const char *dash = strrchr(text, '-');
    const size_t length = dash ? (size_t)(dash - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    struct error error;
    struct network *network =
        network_build(&(struct network_request){.network = name, .classes = 10}, &error);
    for (size_t i = 1; network && technique_names[i]; i++)
        add_suffixed(completion, name, technique_names[i], _("technique"));
    for (size_t i = 0; network && i < sizeof others / sizeof *others; i++)
        add_suffixed(completion, name, others[i].suffix, gettext(others[i].note));
    network_free(network);
}

static bool is_path(const char *text)
{
    return strchr(text, '/') || text[0] == '~' || text[0] == '.';
}

/* Adds network files and saved models. */
static void add_network_files(struct completion *completion, const char *text)
{
    completion_add_paths(completion, text, 0, ".json");
    completion_add_paths(completion, text, 0, ".safetensors");
}

static void network_source(struct completion *completion, const char *text,
                           const struct completion_subject *subject)
{
    add_typed(completion, text, subject);
    if (is_path(text) && !completion->all) {
        add_network_files(completion, text);
        return;
    }
    for (size_t i = 0; i < network_builtin_count; i++)
        completion_add(completion, network_builtins[i].name, _("built in"), false);
    if (text[0] && !completion->all)
        add_suffixes(completion, text);
    add_network_files(completion, text);
}

/* --- data sets --- */

static void kind_source(struct completion *completion, const char *text,
                        const struct completion_subject *subject)
{
    size_t count;
    const struct dataset_kind *kinds = dataset_kinds(&count);
    char name[COMPLETION_TEXT];
    add_typed(completion, text, subject);
    for (size_t i = 0; i < count; i++) {
        const bool more = kinds[i].argument[0];
        snprintf(name, sizeof name, "%s%s", kinds[i].name, more ? ":" : "");
        completion_add(completion, name, gettext(kinds[i].description), more);
    }
}

/* Returns the folder of a SPEC: what is between ':' and the first ','. */
static void folder_of(const char *text, char *folder, size_t size)
{
    const char *colon = strchr(text, ':');
    if (!colon || !spec_value_read(colon + 1, spec_value_length(colon + 1), folder, size))
        folder[0] = '\0';
}

static bool has_name(const struct folder_name *names, size_t count, const char *name,
                     bool is_folder)
{
    for (size_t i = 0; names && i < count; i++)
        if (names[i].is_folder == is_folder && strcmp(names[i].name, name) == 0)
            return true;
    return false;
}

/* Adds the classes of a folder of pictures: its folders, or those of its training split. */
static void add_folder_classes(struct completion *completion, const char *text)
{
    char folder[600], quoted[COMPLETION_TEXT];
    size_t count = 0;
    folder_of(text, folder, sizeof folder - 8);
    const struct folder_name *names = completion_folder(completion, folder, &count);
    if (has_name(names, count, "train", true)) {
        strcat(folder, "/train");
        names = completion_folder(completion, folder, &count);
    }
    for (size_t i = 0; names && i < count; i++)
        if (names[i].is_folder && names[i].name[0] != '.' &&
            spec_value_write(names[i].name, quoted, sizeof quoted))
            completion_add(completion, quoted, "", false);
}

/* Adds the classes that the files of CIFAR-100 name, in the given folder or in that of its archive.
 * Returns whether there are any, or may be as soon as the folder is read. */
static bool add_named_classes(struct completion *completion, const char *text)
{
    static const char *const folders[] = {"", "/cifar-100-binary"}, *file = "fine_label_names.txt";
    char folder[600], path[640];
    size_t count = 0;
    folder_of(text, folder, sizeof folder);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", folder, folders[i]);
        const struct folder_name *names = completion_folder(completion, path, &count);
        if (completion->waiting)
            return true;
        if (!has_name(names, count, file, false))
            continue;
        snprintf(path, sizeof path, "%s%s/%s", folder, folders[i], file);
        names = completion_folder(completion, path, &count);
        for (size_t j = 0; names && j < count; j++)
            completion_add(completion, names[j].name, "", false);
        return true;
    }
    return false;
}

/* Adds the classes of a kind of data set by their names or, where the files name none, by their
 * numbers. */
static void add_classes(struct completion *completion, const char *text,
                        const struct dataset_kind *kind)
{
    char number[24];
    for (size_t i = 0; kind->class_names && i < kind->classes; i++)
        completion_add(completion, kind->class_names[i], "", false);
    if (strcmp(kind->name, "folder") == 0)
        add_folder_classes(completion, text);
    const bool numbered = !kind->class_names && kind->argument[0] && kind->classes > 0;
    if (!numbered || (strcmp(kind->name, "cifar100") == 0 && add_named_classes(completion, text)))
        return;
    for (size_t i = 0; i < kind->classes; i++) {
        snprintf(number, sizeof number, "%zu", i);
        completion_add(completion, number, _("number of a class"), false);
    }
}

static void value_source(struct completion *completion, const char *text, const char *option,
                         const struct dataset_kind *kind)
{
    const size_t length = strcspn(option, "=");
    size_t count;
    const struct spec_option *options = spec_options(&count);
    completion_stem(completion, text, (size_t)(option - text) + length + 1);
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, option, length) == 0)
            for (size_t j = 0; j < 2 && options[i].words[j]; j++)
                completion_add(completion, options[i].words[j], "", false);
    if (kind && length == strlen("only") && memcmp(option, "only", length) == 0)
        add_classes(completion, text, kind);
}

/* Returns the option that is being typed, behind the last comma outside quotations. */
static const char *last_option(const char *text)
{
    const char *at = text + spec_head_length(text) + 1;
    for (;;) {
        const size_t name = strcspn(at, "=,");
        const char *end =
            at[name] == '=' ? at + name + 1 + spec_value_length(at + name + 1) : at + name;
        if (!*end)
            return at;
        at = end + 1;
    }
}

static void option_source(struct completion *completion, const char *text)
{
    const char *option = last_option(text);
    const struct dataset_kind *kind = dataset_kind_of(text);
    char name[32], given[34];
    size_t count;
    const struct spec_option *options = spec_options(&count);
    if (strchr(option, '=')) {
        value_source(completion, text, option, kind);
        return;
    }
    completion_stem(completion, text, (size_t)(option - text));
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s=", options[i].name);
        snprintf(given, sizeof given, ",%s", name);
        if (kind && dataset_kind_has_option(kind, options[i].name) && !strstr(text, given))
            completion_add(completion, name, gettext(options[i].expected), true);
    }
}

/* Adds the folders for the path that begins at text + from and, for a kind that is a file, the
 * files. Names with a comma are offered in a quotation only. */
static void add_spec_paths(struct completion *completion, const char *text, size_t from)
{
    const struct dataset_kind *kind = dataset_kind_of(text);
    const bool file = kind && strcmp(kind->argument, "FILE") == 0;
    const char *ending = !file ? NULL : strcmp(kind->name, "list") == 0 ? "" : kind->name;
    completion_add_paths(completion, text, from + (text[from] == '"'), ending);
    if (text[from] == '"')
        return;
    size_t kept = 0;
    for (size_t i = 0; i < completion->count; i++)
        if (!strchr(completion->items[i].text, ','))
            completion->items[kept++] = completion->items[i];
    completion->count = kept;
    if (!text[from])
        completion_add(completion, "\"", _("begins a path that contains a comma"), true);
}

static void data_source(struct completion *completion, const char *text,
                        const struct completion_subject *subject)
{
    const char *colon = strchr(text, ':');
    const bool options = text[spec_head_length(text)] == ',';
    if (options && !completion->all) {
        option_source(completion, text);
        return;
    }
    if (!colon || completion->all)
        kind_source(completion, text, subject);
    if (colon && !options)
        add_spec_paths(completion, text, (size_t)(colon - text) + 1);
}

/* --- fields --- */

static void suggestion_source(struct completion *completion, const char *text,
                              const struct completion_subject *subject)
{
    add_typed(completion, text, subject);
    for (size_t i = 0; config_suggestion(subject->field->key, i); i++)
        completion_add(completion, config_suggestion(subject->field->key, i), "", false);
}

/* The values of a SPEC that name a part of the training data. */
static void part_source(struct completion *completion, const struct config_field *field)
{
    if (field->key == KEY(validate))
        completion_add(completion, "auto,share=0.1", _("a part of the training data"), false);
    if (field->key == KEY(test))
        completion_add(completion, "auto", _("the test split of the training data"), false);
}

void completion_of_field(struct completion *completion, const char *text, const void *context)
{
    const struct completion_subject *subject = context;
    switch (subject->field->holds) {
    case HOLDS_NETWORK:
        network_source(completion, text, subject);
        break;
    case HOLDS_SPEC:
        if (!strchr(text, ':'))
            part_source(completion, subject->field);
        data_source(completion, text, subject);
        break;
    case HOLDS_WEIGHTS:
    case HOLDS_MODEL:
        completion_add_paths(completion, text, 0, ".safetensors");
        break;
    case HOLDS_FOLDER:
        completion_add_paths(completion, text, 0, NULL);
        break;
    case HOLDS_WORDS:
    case HOLDS_MAPPING:
    case HOLDS_LIST:
        suggestion_source(completion, text, subject);
        break;
    }
}

void completion_of_data(struct completion *completion, const char *text, const void *context)
{
    const struct completion_subject subject = {config_find(KEY(data)), ""};
    (void)context;
    completion_of_field(completion, text, &subject);
}

/* --- settings of a sweep --- */

static void key_source(struct completion *completion, const char *text, size_t from)
{
    char key[COMPLETION_TEXT];
    completion_stem(completion, text, from);
    for (size_t i = 0; i < config_field_count; i++) {
        snprintf(key, sizeof key, "%s=", config_fields[i].key);
        completion_add(completion, key, gettext(config_fields[i].label), true);
    }
}

void completion_of_varied(struct completion *completion, const char *text, const void *context)
{
    const char *space = strrchr(text, ' '), *word = space ? space + 1 : text;
    const char *equals = strchr(word, '=');
    char key[64];
    (void)context;
    completion->all = false;
    if (!equals) {
        key_source(completion, text, (size_t)(word - text));
        return;
    }
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    const struct completion_subject subject = {config_find(key), ""};
    const char *last = strrchr(equals, strchr(equals, ';') ? ';' : ',');
    const char *value = last ? last + 1 : equals + 1;
    const size_t before = (size_t)(value - text);
    completion_stem(completion, value, 0);
    if (subject.field)
        completion_of_field(completion, value, &subject);
    completion->from += before;
    completion->to += before;
}
