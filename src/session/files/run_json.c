#include "session/files/run_json.h"

#include "base/files/file.h"
#include "base/json/json_checksum.h"
#include "base/language.h"

#include <stdlib.h>
#include <string.h>

bool run_json_write(const char *directory, const char *name, struct json *tree, bool complete,
                    struct error *error)
{
    char *path = file_join(directory, name);
    char *text = path && complete ? json_print_with_checksum(tree, error) : NULL;
    const bool written =
        text ? file_write(path, text, strlen(text), true, error) : error_set_memory(error, name, 0);
    free(text);
    free(path);
    json_free(tree);
    return written;
}

bool run_json_open(struct json_document *document, const char *directory, const char *name,
                   size_t limit, const char *advice, struct error *error)
{
    char *path = file_join(directory, name);
    *document = (struct json_document){0};
    bool opened = path || error_set_memory(error, "a path", 0);
    if (path && file_exists(path))
        opened = json_read_file(document, path, limit, error);
    free(path);
    if (opened && document->root && !json_is_object(document->root))
        opened = error_set(error, ERROR_INPUT, document->name,
                           advice ? advice : N_("tinca runs --check says what can be done"),
                           "it is not a JSON object");
    else if (!opened || !document->root || json_verify_checksum(document, advice, error))
        return opened;
    json_document_free(document);
    return false;
}
