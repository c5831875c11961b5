#include "base/host/memory_room.h"
#include "base/memory.h"
#include "engine/weights/safetensors.h"
#include "exchange/export/internal.h"
#include "exchange/frame/exchange.h"

#include <stdlib.h>

/* NumPy's types by enum safetensors_type. */
static const char *const types[] = {
    [SAFETENSORS_F32] = "<f4", [SAFETENSORS_I32] = "<i4",  [SAFETENSORS_U8] = "|u1",
    [SAFETENSORS_I64] = "<i8", [SAFETENSORS_BF16] = "<f4", [SAFETENSORS_F16] = "<f2",
    [SAFETENSORS_I8] = "|i1"};

static bool add_entry(struct npz_file *npz, struct safetensors *file,
                      const struct safetensors_entry *entry, struct error *error)
{
    const bool widened = entry->type == SAFETENSORS_BF16;
    const size_t count = (size_t)safetensors_count(entry);
    const size_t bytes = widened ? count * sizeof(float) : (size_t)entry->bytes;
    void *data = memory_room_check(file->path, bytes, error)
                     ? memory_new_aligned(bytes > 0 ? bytes : 1, 1, entry->name, error)
                     : NULL;
    const bool added = data &&
                       (widened ? safetensors_read_floats(file, entry, 0, count, data, error)
                                : safetensors_read(file, entry, data, error)) &&
                       npz_file_add(npz, entry->name, types[entry->type], entry->dims, entry->rank,
                                    data, bytes, error);
    free(data);
    return added;
}

/* Writes the arrays of a saved model under their names. bf16, which NumPy does not have, becomes
 * float32. */
bool npz_export_model(const struct model_export *export, const char *path,
                      struct exchange_report *report, struct error *error)
{
    const char *model = export->model;
    (void)report;
    struct safetensors file;
    struct npz_file npz;
    if (!safetensors_open(&file, model, error))
        return false;
    bool added = !safetensors_has_checksum(&file) || safetensors_check(&file, error);
    const bool opened = added && npz_file_open(&npz, path, error);
    for (size_t i = 0; opened && added && i < file.count; i++)
        added = add_entry(&npz, &file, &file.entries[i], error);
    safetensors_close(&file);
    return opened && npz_file_close(&npz, added, error);
}
