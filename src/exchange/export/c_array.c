/* Writes a saved model as an array of C, with which a program carries its network in itself. */
#include "exchange/frame/exchange.h"

#include "base/files/output_file.h"
#include "engine/weights/safetensors.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_OF_LINE = 24, NAME_SIZE = 64, BLOCK = 1 << 16 };

/* Makes the array's name of the file's: "my-net.c" gives my_net, standard output gives model. */
static void name_array(const char *path, char name[NAME_SIZE])
{
    const char *base = file_base_name(path), *dot = strrchr(base, '.');
    size_t length = dot ? (size_t)(dot - base) : strlen(base);
    if (output_file_is_stream(path) || length == 0)
        base = "model", length = strlen(base);
    const char *prefix = isdigit((unsigned char)base[0]) ? "model_" : "";
    snprintf(name, NAME_SIZE - sizeof "_size", "%s%.*s", prefix, (int)length, base);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) || (unsigned char)*at > 127)
            *at = '_';
}

static bool write_bytes(FILE *out, struct safetensors *file, uint64_t size, struct error *error)
{
    unsigned char block[BLOCK];
    uint64_t written = 0;
    rewind(file->file);
    for (size_t got; (got = fread(block, 1, sizeof block, file->file)) > 0; written += got)
        for (size_t i = 0; i < got; i++)
            fprintf(out, (written + i) % BYTES_OF_LINE ? "%u," : "\n    %u,", block[i]);
    return written == size || error_set(error, ERROR_INPUT, file->path, "use an intact copy",
                                        "the file changed while it was read");
}

/* Writes declarations that C and C++ understand: a header has an array of its own in each file that
 * includes it. */
static bool write_source(FILE *out, struct safetensors *file, uint64_t size, const char *path,
                         struct error *error)
{
    char name[NAME_SIZE];
    const size_t length = strlen(path);
    const bool header = length > 2 && strcmp(path + length - 2, ".h") == 0;
    const char *linkage = header ? "static " : "";
    name_array(path, name);
    fprintf(out,
            "/* A model of tinca, for tinca_model_from_memory(%s, %s_size) of libtinca. */\n"
            "#include <stddef.h>\n\n"
            "#ifdef __cplusplus\n#define TINCA_ALIGNED alignas(64)\n"
            "#else\n#define TINCA_ALIGNED _Alignas(64)\n#endif\n",
            name, name);
    if (!header)
        fprintf(out,
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
                "extern const unsigned char %s[%llu];\nextern const size_t %s_size;\n"
                "#ifdef __cplusplus\n}\n#endif\n",
                name, (unsigned long long)size, name);
    fprintf(out, "\n%sTINCA_ALIGNED const unsigned char %s[%llu] = {", linkage, name,
            (unsigned long long)size);
    const bool written = write_bytes(out, file, size, error);
    fprintf(out, "\n};\n%sconst size_t %s_size = sizeof %s;\n", linkage, name, name);
    return written;
}

/* Writes the bytes of a saved model as a constant array of C, aligned to 64 bytes, and a constant
 * of its size, NAME and NAME_size, for a library that reads models from memory. NAME is that of the
 * file. In a header (.h) both are static. Returns false with an error. */
bool c_array_export(const struct model_export *export, const char *path,
                    struct exchange_report *report, struct error *error)
{
    const char *model = export->model;
    (void)report;
    struct safetensors file;
    struct output_file output;
    uint64_t size = 0;
    if (!safetensors_open(&file, model, error))
        return false;
    bool written =
        !safetensors_metadata(&file, "tinca.network")
            ? error_set(error, ERROR_INPUT, model, "use a file that tinca train --save has written",
                        "it has weights alone, and no network")
            : !safetensors_has_checksum(&file) || safetensors_check(&file, error);
    if (written && fseeko(file.file, 0, SEEK_END) == 0)
        size = (uint64_t)ftello(file.file);
    const bool opened = written && output_file_open(&output, path, OUTPUT_TEXT, error);
    written = opened && write_source(output.stream, &file, size, path, error);
    safetensors_close(&file);
    if (opened && !written)
        output_file_abandon(&output);
    return written && output_file_commit(&output, error);
}
