/* The name of a result's file has the name of the network in it, for people, and a checksum of all
 * that the result depends on. */
#include "session/models/other_means.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

const char *means_training_data(const struct model_table *table, size_t row, size_t reference,
                                const struct means_settings *settings)
{
    if (settings && settings->data)
        return settings->data;
    return table->rows[row].training[0]         ? table->rows[row].training
           : table->rows[reference].training[0] ? table->rows[reference].training
                                                : NULL;
}

static uLong add(uLong sum, const char *text)
{
    return crc32_z(sum, (const unsigned char *)text, strlen(text) + 1); /* its end, too */
}

/* Returns what identifies the contents of a teacher; its path if it is not in the table. */
static const char *teacher_of(const struct model_table *table, const char *step)
{
    const char *path = strncmp(step, "distill:", 8) == 0 ? step + 8 : "";
    for (size_t i = 0; path[0] && i < table->count; i++)
        if (strcmp(table->rows[i].path, path) == 0)
            return table->rows[i].figures.key;
    return path;
}

char *means_file_name(const struct model_table *table, size_t row, size_t reference,
                      const char *step, const struct means_settings *settings,
                      char name[MEANS_FILE_NAME])
{
    char numbers[64], key[MODEL_DATA_KEY] = "";
    const struct model_row *from = &table->rows[row];
    const char *data = means_training_data(table, row, reference, settings);
    const size_t kind = strcspn(step, ":");
    size_t used = 0;
    if (data)
        model_data_key(data, key);
    snprintf(numbers, sizeof numbers, "%zu %zu", settings->epochs, settings->seed);
    uLong sum = add(crc32_z(0, NULL, 0), from->figures.key);
    sum = add(sum, strncmp(step, "distill:", 8) == 0 ? "distill" : step);
    sum = add(add(add(add(sum, teacher_of(table, step)), key), from->data_key), numbers);
    for (const char *at = from->figures.facts.name; *at && used < 100; at++)
        name[used++] = strchr("/:\\ \t\n", *at) ? '-' : *at;
    snprintf(name + used, MEANS_FILE_NAME - used, "+%.*s-%08lx.safetensors", (int)kind, step, sum);
    return name;
}
