/* A step of a chain is KIND or KIND:ARGUMENT. The chain is a member of the network file, so that a
 * change of it is a change of the file's text, whose checksum then no longer holds. */
#include "engine/network/network_compression.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_step(const char *step, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const size_t kind = strspn(step, letters);
    if (kind == 0 || kind >= length)
        return kind == length && length > 0;
    const size_t argument = strspn(step + kind + 1, letters);
    return step[kind] == ':' && argument > 0 && kind + 1 + argument == length;
}

bool compression_is_valid(const char *chain)
{
    if (strlen(chain) >= NETWORK_COMPRESSION)
        return false;
    for (;;) {
        const size_t length = strcspn(chain, "+");
        if (!is_step(chain, length))
            return false;
        if (!chain[length])
            return true;
        chain += length + 1;
    }
}

bool compression_append(struct json *root, const char *step, struct error *error)
{
    const char *before = json_string(json_member(root, "compression"));
    char chain[2 * NETWORK_COMPRESSION];
    snprintf(chain, sizeof chain, "%s%s%s", before ? before : "", before ? "+" : "", step);
    if (!compression_is_valid(chain))
        return error_set(error, ERROR_UNSUPPORTED, step,
                         "begin with a network to which fewer techniques were applied",
                         "the chain of techniques would have more than %d characters",
                         NETWORK_COMPRESSION - 1);
    json_remove(root, "compression");
    return json_add_string(root, "compression", chain) ||
           error_set_memory(error, "the network file", 0);
}

bool compression_remove_last(struct json *root)
{
    char chain[NETWORK_COMPRESSION];
    const char *before = json_string(json_member(root, "compression"));
    snprintf(chain, sizeof chain, "%s", before ? before : "");
    json_remove(root, "compression");
    char *plus = strrchr(chain, '+');
    if (!plus)
        return true;
    *plus = '\0';
    return json_add_string(root, "compression", chain);
}

bool network_append_compression(struct network *network, const char *step, struct error *error)
{
    struct json_document document = {0};
    char *text = NULL;
    if (json_parse(&document, network->source, strlen(network->source), network->name, error) &&
        compression_append(document.root, step, error)) {
        json_remove(document.root, "crc32"); /* the checksum was that of the text before */
        text = json_print(document.root, true, error);
    }
    if (text) {
        snprintf(network->compression, sizeof network->compression, "%s",
                 json_string(json_member(document.root, "compression")));
        free(network->source);
        network->source = text;
    }
    json_document_free(&document);
    return text;
}
