/* Writes the data of the hparams plugin: metadata of values that are empty themselves. TensorBoard
 * collects the hyperparameters and metrics of all runs of a folder itself: it reads the start of
 * each run, and the scalars. */
#include "training/tensorboard/event_message.h"

#include "base/memory.h"

#include <stdlib.h>

/* Adds a message of the plugin under its tag. */
static void add_data(struct event_log *log, struct event_time time, const char *tag,
                     const Tb__HParamsData *message)
{
    static char plugin[] = "hparams";
    Tb__SummaryValue value = TB__SUMMARY_VALUE__INIT;
    Tb__SummaryMetadata metadata = TB__SUMMARY_METADATA__INIT;
    Tb__PluginData data = TB__PLUGIN_DATA__INIT;
    Tb__Tensor tensor = TB__TENSOR__INIT;
    Tb__TensorShape shape = TB__TENSOR_SHAPE__INIT;
    Tb__TensorDimension none = TB__TENSOR_DIMENSION__INIT, *dims = &none;
    const size_t bytes = tb__hparams_data__get_packed_size(message);
    uint8_t *content = memory_new(bytes, 1, "an event", NULL);
    if (!content) {
        log->lost++;
        return;
    }
    tb__hparams_data__pack(message, content);
    none.has_size = true;
    shape.dim = &dims;
    shape.n_dim = 1;
    tensor.has_dtype = true;
    tensor.dtype = EVENT_TENSOR_FLOAT;
    tensor.tensor_shape = &shape;
    data.plugin_name = plugin;
    data.has_content = true;
    data.content = (ProtobufCBinaryData){bytes, content};
    metadata.plugin_data = &data;
    value.tag = (char *)tag;
    value.tensor = &tensor;
    value.metadata = &metadata;
    event_message_add_value(log, time, &value);
    free(content);
}

static void set_value(Tb__HParamValue *value, const struct event_hparam *hparam)
{
    value->has_number_value = hparam->type == EVENT_NUMBER;
    value->number_value = hparam->number;
    value->has_bool_value = hparam->type == EVENT_FLAG;
    value->bool_value = hparam->flag;
    if (hparam->type == EVENT_TEXT)
        value->string_value = (char *)hparam->text;
}

void event_log_add_hparams(struct event_log *log, struct event_time time, const char *group,
                           const struct event_hparam *hparams, size_t count)
{
    Tb__HParamEntry entries[EVENT_HPARAMS], *list[EVENT_HPARAMS];
    Tb__HParamValue values[EVENT_HPARAMS];
    Tb__SessionStart start = TB__SESSION_START__INIT;
    Tb__HParamsData data = TB__HPARAMS_DATA__INIT;
    count = count < EVENT_HPARAMS ? count : EVENT_HPARAMS;
    for (size_t i = 0; i < count; i++) {
        tb__hparam_entry__init(&entries[i]);
        tb__hparam_value__init(&values[i]);
        set_value(&values[i], &hparams[i]);
        entries[i].key = (char *)hparams[i].name;
        entries[i].value = &values[i];
        list[i] = &entries[i];
    }
    start.hparams = list;
    start.n_hparams = count;
    start.group_name = (char *)group;
    start.has_start_time_secs = true;
    start.start_time_secs = time.wall;
    data.has_version = true;
    data.session_start_info = &start;
    add_data(log, time, "_hparams_/session_start_info", &data);
}

void event_log_add_end(struct event_log *log, struct event_time time, bool success)
{
    Tb__SessionEnd end = TB__SESSION_END__INIT;
    Tb__HParamsData data = TB__HPARAMS_DATA__INIT;
    end.has_status = end.has_end_time_secs = true;
    end.status = success ? EVENT_END_SUCCESS : EVENT_END_FAILURE;
    end.end_time_secs = time.wall;
    data.has_version = true;
    data.session_end_info = &end;
    add_data(log, time, "_hparams_/session_end_info", &data);
}
