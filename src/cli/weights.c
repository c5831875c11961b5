/* tinca weights: shows the arrays of a safetensors file, compares them with a network, and writes
 * a file with other names. A rename is a pair of patterns, as in the mappings of
 * engine/weights/weights_names.h. */
#include "engine/weights/weights_match.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"
#include "base/memory.h"
#include "models/measure/model_operand.h"
#include "models/saved/model_output.h"
#include "runs/settings/settings.h"
#include "training/compress/technique.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 15, MAX_METADATA = 256, NAME_SIZE = 128 };

struct weights_request {
    const char *path, *network, *save, *names;
    struct option_list renames;
    struct run_config config;
    size_t classes;
    bool as_json;
};

/* --- values --- */

struct value_statistics {
    double mean, deviation, least, largest; /* NaN: the array is empty, not of floats, or has NaN */
};

static bool measure(struct safetensors *file, const struct safetensors_entry *entry, float *block,
                    struct value_statistics *statistics, struct error *error)
{
    const uint64_t count = safetensors_has_numbers(file, entry) ? safetensors_count(entry) : 0;
    double sum = 0, squares = 0, least = INFINITY, largest = -INFINITY;
    *statistics = (struct value_statistics){NAN, NAN, NAN, NAN};
    for (uint64_t done = 0; done < count;) {
        const size_t some = count - done < BLOCK ? (size_t)(count - done) : BLOCK;
        if (!safetensors_read_floats(file, entry, done, some, block, error))
            return false;
        for (size_t i = 0; i < some; i++) {
            const double value = (double)block[i];
            sum += value;
            squares += value * value;
            least = value < least ? value : least;
            largest = value > largest ? value : largest;
        }
        done += some;
    }
    if (count == 0 || isnan(sum))
        return true;
    const double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    *statistics =
        (struct value_statistics){mean, sqrt(variance > 0 ? variance : 0), least, largest};
    return true;
}

static char *shape_text(const size_t *dims, size_t rank, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", rank ? "" : "1");
    for (size_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? "x" : "", dims[i]);
    return text;
}

static void number_cell(struct table *table, double value)
{
    table_cell(table, isnan(value) ? "-" : "%.4g", value);
}

static bool add_array(struct json *list, const struct safetensors_entry *entry,
                      const struct value_statistics *s)
{
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "name", entry->name) &&
                 json_add_string(object, "type", safetensors_type_name(entry->type));
    struct json *shape = json_add_array(object, "shape");
    for (size_t i = 0; i < entry->rank; i++)
        added = json_add_count(shape, NULL, entry->dims[i]) && added;
    return added && json_add_number(object, "mean", s->mean) &&
           json_add_number(object, "sd", s->deviation) &&
           json_add_number(object, "min", s->least) && json_add_number(object, "max", s->largest);
}

static void add_row(struct table *table, const struct safetensors_entry *entry,
                    const struct value_statistics *s)
{
    char shape[96];
    table_cell(table, "%s", entry->name);
    table_cell(table, "%s", shape_text(entry->dims, entry->rank, shape, sizeof shape));
    table_cell(table, "%s", safetensors_type_name(entry->type));
    number_cell(table, s->mean);
    number_cell(table, s->deviation);
    number_cell(table, s->least);
    number_cell(table, s->largest);
}

/* Adds every array to the table or the JSON list, whichever is given. */
static bool for_each_array(struct safetensors *file, struct table *table, struct json *list,
                           struct error *error)
{
    struct value_statistics statistics;
    float *block = memory_new(BLOCK, sizeof *block, "the values", error);
    bool good = block;
    for (size_t i = 0; good && i < file->count; i++) {
        good = measure(file, &file->entries[i], block, &statistics, error);
        if (good && table)
            add_row(table, &file->entries[i], &statistics);
        if (good && list && !add_array(list, &file->entries[i], &statistics))
            good = error_set_memory(error, "the JSON document", 0);
    }
    free(block);
    return good;
}

static int show(struct safetensors *file, bool as_json)
{
    struct error error;
    struct json *root = as_json ? json_new_object() : NULL;
    struct json *list = root ? json_add_array(root, "arrays") : NULL;
    struct table table = table_begin("llrrrrr", _("NAME|SHAPE|TYPE|MEAN|SD|MIN|MAX"));
    if (for_each_array(file, as_json ? NULL : &table, list, &error) && !as_json)
        return output_table(&table);
    table_free(&table);
    if (as_json && list)
        return output_json(root, true);
    json_free(root);
    return output_error(&error);
}

/* --- other names --- */

/* Renames the entries by the first pair that matches; each pair must match one. */
static bool rename_entries(struct safetensors *file, const struct option_list *renames,
                           struct error *error)
{
    bool used[OPTION_LIST_MAX] = {false};
    char from[NAME_SIZE], out[NAME_SIZE];
    for (size_t i = 0; i < file->count; i++)
        for (size_t r = 0; r < renames->count; r++) {
            const char *equals = strchr(renames->values[r], '=');
            snprintf(from, sizeof from, "%.*s", (int)(equals - renames->values[r]),
                     renames->values[r]);
            if (!weights_names_replace(from, equals + 1, file->entries[i].name, out, sizeof out))
                continue;
            used[r] = true;
            snprintf(file->entries[i].name, sizeof file->entries[i].name, "%s", out);
            break;
        }
    for (size_t r = 0; r < renames->count; r++)
        if (!used[r])
            return error_set(error, ERROR_INPUT, renames->values[r],
                             "tinca weights FILE lists the names", "no array has this name");
    if (renames->count > 0 && !safetensors_index_names(file, error))
        return false;
    for (size_t i = 0; i < file->count; i++)
        if (safetensors_find(file, file->entries[i].name) != &file->entries[i])
            return error_set(error, ERROR_INPUT, file->entries[i].name,
                             "choose other names with --rename", "two arrays would have this name");
    return true;
}

static size_t count_stars(const char *text, size_t length)
{
    size_t stars = 0;
    for (size_t i = 0; i < length; i++)
        stars += text[i] == '*';
    return stars;
}

static bool check_renames(const struct option_list *renames, struct error *error)
{
    for (size_t r = 0; r < renames->count; r++) {
        const char *pair = renames->values[r], *equals = strchr(pair, '=');
        const size_t before = equals ? (size_t)(equals - pair) : 0;
        if (before == 0 || before >= NAME_SIZE || !equals[1] || strlen(equals + 1) >= NAME_SIZE ||
            count_stars(pair, before) > 8 ||
            count_stars(equals + 1, strlen(equals + 1)) > count_stars(pair, before))
            return error_set(error, ERROR_USAGE, pair, "give OLD=NEW, as in features.*=conv.*",
                             "this is no pair of names");
    }
    return true;
}

/* Fills metadata with the file's, without its checksum, which the new file has anew. */
static void copy_metadata(const struct safetensors *file, const char **metadata)
{
    size_t n = 0;
    const struct json *texts = json_member(file->header.root, "__metadata__");
    for (const struct json *text = json_first_member(texts); text && n + 2 < MAX_METADATA;
         text = json_next(text))
        if (strcmp(json_key(text), "tinca.crc32") != 0 && json_string(text)) {
            metadata[n++] = json_key(text);
            metadata[n++] = json_string(text);
        }
    metadata[n] = NULL;
}

/* An array of the file that is written. */
struct copied {
    struct safetensors *file;
    const struct safetensors_entry *entry;
};

static bool read_block(const struct safetensors_array *array, uint64_t first, size_t count,
                       void *out, struct error *error)
{
    const struct copied *copied = array->context;
    return safetensors_read_part(copied->file, copied->entry, first, count, out, error);
}

/* Writes all arrays under their present names, block by block. */
static bool save(struct safetensors *file, const char *path, struct error *error)
{
    const char *metadata[MAX_METADATA];
    struct safetensors_array *arrays =
        memory_new(file->count + 1, sizeof *arrays, "the header", error);
    struct copied *copied = memory_new(file->count + 1, sizeof *copied, "the header", error);
    const bool ready = arrays && copied;
    for (size_t i = 0; ready && i < file->count; i++) {
        const struct safetensors_entry *entry = &file->entries[i];
        copied[i] = (struct copied){file, entry};
        arrays[i] = (struct safetensors_array){.name = entry->name,
                                               .type = entry->type,
                                               .rank = entry->rank,
                                               .source = read_block,
                                               .context = &copied[i]};
        memcpy(arrays[i].dims, entry->dims, sizeof entry->dims);
    }
    copy_metadata(file, metadata);
    const bool saved = ready && safetensors_write(path, arrays, file->count, metadata, error);
    free(arrays);
    free(copied);
    return saved;
}

/* --- beside a network --- */

static const char *const fit_names[] = {[WEIGHTS_FIT_LOADED] = N_("fits"),
                                        [WEIGHTS_FIT_IDENTITY] = N_("identity"),
                                        [WEIGHTS_FIT_RESET] = N_("begins anew"),
                                        [WEIGHTS_FIT_SHAPE] = N_("another shape"),
                                        [WEIGHTS_FIT_MISSING] = N_("missing")};

static bool is_fit(enum weights_fit fit)
{
    return fit != WEIGHTS_FIT_SHAPE && fit != WEIGHTS_FIT_MISSING;
}

static void add_fit(struct table *table, const struct weights_pairing *pairing,
                    const struct parameter *parameter, size_t *mismatches)
{
    char here[96], there[96];
    size_t entry = SIZE_MAX;
    const enum weights_fit fit = weights_pairing_fit(pairing, parameter, &entry);
    *mismatches += !is_fit(fit);
    table_cell(table, "%s", parameter->name);
    table_cell(table, "%s", shape_text(parameter->dims, parameter->rank, here, sizeof here));
    if (entry == SIZE_MAX) {
        table_fill(table, 2, "-");
    } else {
        const struct safetensors_entry *found = &pairing->original[entry];
        table_cell(table, "%s", found->name);
        table_cell(table, "%s", shape_text(found->dims, found->rank, there, sizeof there));
    }
    table_cell(table, "%s", gettext(fit_names[fit]));
}

static void print_unused(const struct weights_pairing *pairing)
{
    size_t unused = 0;
    for (size_t i = 0; i < pairing->file.count; i++)
        unused += !weights_pairing_uses(pairing, i);
    if (unused > 0)
        output_print(ngettext("\n%zu array of the file has no place in the network:\n",
                              "\n%zu arrays of the file have no place in the network:\n", unused),
                     unused);
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i))
            output_print("  %s\n", pairing->original[i].name);
}

/* Prints how each array of the network fits. The exit status says whether all do. */
static int print_pairing(const struct weights_pairing *pairing)
{
    size_t mismatches = 0;
    const struct graph *graph = pairing->graph;
    struct table table = table_begin("lllll", _("NETWORK|SHAPE|FILE|SHAPE|STATE"));
    for (size_t p = 0; p < graph->parameter_count; p++)
        add_fit(&table, pairing, &graph->parameters[p], &mismatches);
    const int status = output_table(&table);
    print_unused(pairing);
    output_print("\n");
    if (pairing->names[0])
        output_print(_("Names by the mapping %s.\n"), pairing->names);
    output_print(ngettext("%zu of %zu array does not fit.\n", "%zu of %zu arrays do not fit.\n",
                          graph->parameter_count),
                 mismatches, graph->parameter_count);
    return status == EXIT_DONE && mismatches > 0 ? EXIT_FAILED : status;
}

static int pairing_json(const struct weights_pairing *pairing)
{
    struct json *root = json_new_object(), *list = json_add_array(root, "arrays");
    bool added = json_add_string(root, "names", pairing->names);
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const struct parameter *parameter = &pairing->graph->parameters[p];
        size_t entry = SIZE_MAX;
        const enum weights_fit fit = weights_pairing_fit(pairing, parameter, &entry);
        struct json *object = json_add_object(list, NULL);
        added =
            json_add_string(object, "name", parameter->name) &&
            (entry == SIZE_MAX ? json_add_null(object, "file")
                               : json_add_string(object, "file", pairing->original[entry].name)) &&
            json_add_string(object, "state", fit_names[fit]) && added;
    }
    struct json *unused = json_add_array(root, "unused");
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i))
            added = json_add_string(unused, NULL, pairing->original[i].name) && added;
    return output_json(root, added);
}

static int compare(struct weights_request *request)
{
    struct error error;
    struct weights_pairing pairing;
    if (!config_put(&request->config, KEY(network), request->network, &error))
        return output_error(&error);
    struct network_request wanted = network_settings(&request->config).request;
    wanted.classes = request->classes;
    struct network *network = network_build(&wanted, &error);
    const struct weights_source source = {request->path, training_settings(&request->config).reset,
                                          training_settings(&request->config).names,
                                          WEIGHTS_OUTPUTS_READ};
    if (!network || !weights_pairing_open(&pairing, &network->graph, &source, &error)) {
        network_free(network);
        return output_error(&error);
    }
    const int status = request->as_json ? pairing_json(&pairing) : print_pairing(&pairing);
    weights_pairing_close(&pairing);
    network_free(network);
    return status;
}

/* --- the command --- */

static int work(struct weights_request *request)
{
    struct error error;
    struct safetensors file;
    const bool renames = request->renames.count > 0;
    const enum weights_format format =
        (enum weights_format)record_settings(&request->config).save_precision;
    if (request->network && (request->save || renames)) {
        error_set(&error, ERROR_USAGE, OPTION(network), "rename first, and compare the new file",
                  "a comparison does not go with --rename and --save");
        return output_error(&error);
    }
    if ((training_settings(&request->config).names[0] ||
         training_settings(&request->config).reset[0]) &&
        !request->network) {
        error_set(&error, ERROR_USAGE,
                  training_settings(&request->config).names[0] ? OPTION(names) : OPTION(reset),
                  "give --network, too", "only a comparison with a network needs it");
        return output_error(&error);
    }
    if (request->network)
        return compare(request);
    if (config_is_given(&request->config, KEY(save_precision)) && (renames || !request->save)) {
        error_set(&error, ERROR_USAGE, OPTION(save_precision),
                  "give --save FILE, and rename before",
                  "it writes the weights of a model in another precision");
        return output_error(&error);
    }
    if (config_is_given(&request->config, KEY(save_precision)))
        return half_model_save(request->path, format, request->save, &error) ? EXIT_DONE
                                                                             : output_error(&error);
    if (!check_renames(&request->renames, &error) ||
        !safetensors_open(&file, request->path, &error))
        return output_error(&error);
    int status = EXIT_DONE;
    if (!rename_entries(&file, &request->renames, &error) ||
        (request->save && !save(&file, request->save, &error)))
        status = output_error(&error);
    else if (!request->save)
        status = show(&file, request->as_json);
    safetensors_close(&file);
    return status;
}

static int weights_run(const struct command *command, int argc, char **argv)
{
    int status;
    struct operands operands;
    struct weights_request request = {0};
    const struct option_row rows[] = {
        TEXT_ROW("network", "NET",
                 N_("Compare the file with this network: what fits, what does not, and why."),
                 &request.network),
        COUNT_ROW("classes", "N", N_("The network's classes; 0: as in its file."), &request.classes,
                  0, 1000000),
        LIST_ROW("rename", "OLD=NEW",
                 N_("Give arrays another name; each * stands for one character or more, and keeps "
                    "what it stands for."),
                 &request.renames),
        TEXT_ROW("save", "FILE", N_("Write the arrays under their new names."), &request.save),
        OUTPUT_JSON_OPTION(&request.as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &request.config,
                                   .task = TASK_WEIGHTS,
                                   .operands_min = 1,
                                   .operands_max = 1};
    config_defaults(&request.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    struct error error;
    char *path = model_operand_path(operands.values[0], &error);
    request.path = path;
    status = path ? work(&request) : output_error(&error);
    free(path);
    return status;
}

const struct command command_weights = {
    .name = "weights",
    .operands = "FILE",
    .summary = N_("Show or rename the arrays of a file of weights."),
    .details = N_("FILE is a safetensors file: a model or a checkpoint of tinca, or a state dict "
                  "of PyTorch. With --network the exit status is 1 if an array of the network is "
                  "missing or has another shape."),
    .run = weights_run,
};
