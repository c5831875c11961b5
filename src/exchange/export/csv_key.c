/* Finds the settings that distinguish the runs of a table. Each run is compared only with the first
 * one of the same network, mode and batch, so n runs need n comparisons. */
#include "exchange/export/internal.h"

#include "base/escape/csv.h"
#include "base/memory.h"
#include "runs/settings/settings.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_SIZE = 1024 };

static const char *mode_of(const struct run *run)
{
    if (strcmp(machine_settings(run_config(run)).device, "unknown") == 0)
        return "unknown"; /* an imported run */
    return strncmp(machine_settings(run_config(run)).device, "cuda", 4) == 0 ? "GPU" : "CPU";
}

/* The key is the beginning of every row, "network,mode,batch". The technique is part of the name,
 * as in the studies. */
char *csv_key_print(const struct run *run, char text[CSV_KEY_SIZE])
{
    const struct run_facts *facts = run_facts(run);
    char name[64];
    csv_clean(facts->network, name, sizeof name);
    bool plain = strcmp(facts->technique, "none") == 0 || strstr(name, facts->technique);
    snprintf(text, CSV_KEY_SIZE, "%s%s%s,%s,%03zu", name, plain ? "" : "-",
             plain ? "" : facts->technique, mode_of(run), training_settings(run_config(run)).batch);
    return text;
}

/* --- settings in which runs differ --- */

/* Writes a setting as a table shows it: "unknown" if the log of an imported run does not give it.
 */
static void shown_value(const struct run *run, const char *field, char *shown)
{
    char value[VALUE_SIZE] = "unknown";
    if (config_is_known(run_config(run), run_facts(run)->imported, field))
        config_get(run_config(run), field, value, sizeof value);
    csv_clean(value, shown, VALUE_SIZE);
}

/* Returns whether two runs differ in a setting as the table shows it. */
static bool differs(const struct run *a, const struct run *b, const char *field)
{
    char first[VALUE_SIZE], second[VALUE_SIZE];
    shown_value(a, field, first);
    shown_value(b, field, second);
    return strcmp(first, second) != 0;
}

/* Returns whether a setting is part of the key. The key has network and technique; its mode is only
 * the kind of device. */
static bool is_in_head(const char *field)
{
    return strcmp(field, KEY(network)) == 0 || strcmp(field, KEY(technique)) == 0 ||
           strcmp(field, KEY(batch)) == 0;
}

static bool has_equal_settings(const struct csv_key *key, const struct run *a, const struct run *b)
{
    bool equal = true;
    for (size_t f = 0; equal && f < config_field_count; f++)
        equal = !key->varies[f] || !differs(a, b, config_fields[f].key);
    return equal;
}

static void find_columns(struct csv_key *key, struct run *const *runs,
                         const char (*heads)[CSV_KEY_SIZE], size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t first = 0;
        while (first < i && strcmp(heads[first], heads[i]) != 0)
            first++;
        for (size_t f = 0; first < i && f < config_field_count; f++)
            key->varies[f] =
                key->varies[f] || (!is_in_head(config_fields[f].key) &&
                                   differs(runs[first], runs[i], config_fields[f].key));
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i && !key->with_id; k++)
            key->with_id =
                strcmp(heads[k], heads[i]) == 0 && has_equal_settings(key, runs[k], runs[i]);
}

bool csv_key_create(struct csv_key *key, struct run *const *runs, size_t count, struct error *error)
{
    *key = (struct csv_key){0};
    key->varies = memory_new(config_field_count, sizeof *key->varies, "a table", error);
    char(*heads)[CSV_KEY_SIZE] = memory_new(count, sizeof *heads, "a table", error);
    const bool created = key->varies && heads;
    for (size_t i = 0; created && i < count; i++)
        csv_key_print(runs[i], heads[i]);
    if (created)
        find_columns(key, runs, (const char(*)[CSV_KEY_SIZE])heads, count);
    free(heads);
    if (!created)
        csv_key_free(key);
    return created;
}

void csv_key_free(struct csv_key *key)
{
    free(key->varies);
    *key = (struct csv_key){0};
}

/* --- writing --- */

void csv_key_write_names(const struct csv_key *key, FILE *stream)
{
    for (size_t f = 0; f < config_field_count; f++)
        if (key->varies[f])
            fprintf(stream, ",%s", config_fields[f].key);
    if (key->with_id)
        fputs(",run", stream);
}

void csv_key_write_further(const struct csv_key *key, const struct run *run, FILE *stream)
{
    char shown[VALUE_SIZE];
    for (size_t f = 0; f < config_field_count; f++) {
        if (!key->varies[f])
            continue;
        shown_value(run, config_fields[f].key, shown);
        fprintf(stream, ",%s", shown);
    }
    if (!key->with_id)
        return;
    csv_clean(run_facts(run)->id, shown, sizeof shown);
    fprintf(stream, ",%s", shown);
}
