/* The network and the measurements are the trees of the run's files. Of data.json, which may list a
 * hundred thousand files, the session has the facts and one checksum over the list. */
#include "exchange/export/internal.h"

#include "base/files/file.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_json.h"
#include "runs/folder/run_name.h"
#include "runs/folder/run_prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { FILE_LIMIT = 1 << 30 };

/* --- labels --- */

static bool add_tags(struct json *tree, const char *directory)
{
    char tags[RUN_TAGS_SIZE], *rest = run_tags_read(directory, tags);
    struct json *list = tags[0] ? json_add_array(tree, "tags") : NULL;
    bool added = !tags[0] || list;
    for (char *tag; added && (tag = strtok_r(rest, " ", &rest));)
        added = json_add_string(list, NULL, tag);
    return added;
}

static bool add_labels(struct json *tree, const char *directory)
{
    char name[RUN_NAME_SIZE], note[RUN_NOTE_SIZE];
    run_name_read(directory, name);
    run_note_read(directory, note);
    return (!name[0] || json_add_string(tree, "name", name)) && add_tags(tree, directory) &&
           (!note[0] || json_add_string(tree, "note", note));
}

/* --- data --- */

/* Adds the CRC-32 of a list's compact text. */
static bool add_list_checksum(struct json *set, const char *key, const struct json *list)
{
    char crc[16];
    char *text = json_print(list, false, NULL);
    if (!text)
        return false;
    snprintf(crc, sizeof crc, "%08" PRIx32,
             (uint32_t)crc32_z(0, (const unsigned char *)text, strlen(text)));
    free(text);
    return json_add_string(set, key, crc);
}

/* Adds a set of data.json; its list of files, folders or parts as a checksum. */
static bool add_set(struct json *data, const char *key, const struct json *set)
{
    struct json *object = json_is_object(set) ? json_add_object(data, key) : NULL;
    if (!json_is_object(set))
        return json_add_null(data, key);
    bool added = object;
    for (const struct json *m = json_first_member(set); added && m; m = json_next(m)) {
        const char *name = json_key(m);
        const bool list = strcmp(name, "files") == 0 || strcmp(name, "folders") == 0 ||
                          strcmp(name, "parts") == 0;
        added = list ? add_list_checksum(object, "crc32", m)
                     : json_add_tree(object, name, json_copy(m));
    }
    return added;
}

static bool add_data(struct json *tree, const struct json *root)
{
    struct json *data = root ? json_add_object(tree, "data") : NULL;
    return !root ||
           (add_set(data, "training", json_member(root, "training")) &&
            add_set(data, "validation", json_member(root, "validation")) &&
            (!json_member(root, "test") || add_set(data, "test", json_member(root, "test"))) &&
            (!json_member(root, "teacher") ||
             json_add_tree(data, "teacher", json_copy(json_member(root, "teacher")))));
}

/* --- files of the run --- */

static bool add_network(struct json *tree, const struct json *root)
{
    struct json *network = root ? json_add_object(tree, "network") : NULL;
    bool added = !root || network;
    for (const struct json *m = json_first_member(root); added && m; m = json_next(m))
        if (strcmp(json_key(m), "crc32") != 0)
            added = json_add_tree(network, json_key(m), json_copy(m));
    return added;
}

static bool add_measurements(struct json *tree, const struct json *root)
{
    const struct json *devices = json_member(root, "devices");
    return !devices || json_add_tree(tree, "measurements", json_copy(devices));
}

/* Adds the files from which members of the session come. A damaged file, whose checksum is wrong,
 * is named in the list "damaged" instead. Returns false if memory is short. */
static bool add_files(struct json *tree, const char *directory)
{
    typedef bool add_file(struct json * tree, const struct json *root);
    static const struct {
        const char *name;
        add_file *add;
    } files[] = {{"provenance.json", provenance_add},
                 {"network.json", add_network},
                 {"data.json", add_data},
                 {"measurements.json", add_measurements}};
    struct json *damaged = NULL;
    bool added = true;
    for (size_t i = 0; added && i < sizeof files / sizeof *files; i++) {
        struct json_document document;
        if (run_json_open(&document, directory, files[i].name, FILE_LIMIT, NULL, NULL)) {
            added = files[i].add(tree, document.root);
            json_document_free(&document);
            continue;
        }
        damaged = damaged ? damaged : json_add_array(tree, "damaged");
        added = json_add_string(damaged, NULL, files[i].name);
    }
    return added;
}

/* Adds name and size of the model that a measurement would use: the best one, or the last. */
static bool add_model(struct json *tree, const char *directory)
{
    static const char *const names[] = {"best.safetensors", "weights.safetensors"};
    bool added = true, found = false;
    for (size_t i = 0; added && !found && i < sizeof names / sizeof *names; i++) {
        struct stat status;
        char *path = file_join(directory, names[i]);
        found = path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
        struct json *model = found ? json_add_object(tree, "model") : NULL;
        added = path && (!found || (json_add_string(model, "file", names[i]) &&
                                    json_add_count(model, "bytes", (uint64_t)status.st_size)));
        free(path);
    }
    return added && json_add_count(tree, "disk_bytes", run_disk_bytes(directory));
}

/* Adds the energy of training, without pauses, if it was measured. */
static bool add_energy(struct json *tree, const struct run_snapshot *snapshot)
{
    struct json *energy = snapshot->energy.joules > 0 ? json_add_object(tree, "energy") : NULL;
    return !(snapshot->energy.joules > 0) ||
           (json_add_number(energy, "joules", snapshot->energy.joules) &&
            json_add_number(energy, "seconds", snapshot->energy.seconds) &&
            json_add_number(energy, "images", snapshot->energy.images));
}

struct json *export_record(const struct run_facts *facts, const struct run_snapshot *snapshot,
                           struct error *error)
{
    const char *directory = facts->directory;
    struct json *tree = json_new_object();
    if (add_labels(tree, directory) && add_model(tree, directory) && add_energy(tree, snapshot) &&
        add_files(tree, directory))
        return tree;
    error_set_memory(error, "the session file", 0);
    json_free(tree);
    return NULL;
}
