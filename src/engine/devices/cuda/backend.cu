/* Device memory, copies, batches, events, captured graphs and profiling.
 *
 * All kernels run on one stream. Batches are transferred on a second stream, so that the next batch
 * arrives while the present one is computed: from pinned memory into a buffer on the device, and
 * from there, on the first stream, to where the kernels read; 8-bit samples are normalised on this
 * way. There are two device buffers, used in turn; an event for each signals that it is free.
 *
 * A batch that lies in pinned memory, as those of the data loader do, is read from there: nobody
 * copies it on the host, and await_batches() says when it may change. Any other batch is copied to
 * one of two pinned buffers first. */
#include "engine/devices/cuda/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cuda_context *context_of(struct device *device)
{
    return (struct cuda_context *)device->state;
}

/* --- memory --- */

static bool reserve_allocation(struct cuda_context *context)
{
    if (context->allocation_count < context->allocation_capacity)
        return true;
    const size_t capacity = 2 * context->allocation_capacity + 16;
    void *allocations = realloc(context->allocations, capacity * sizeof *context->allocations);
    if (!allocations)
        return false;
    context->allocations = (struct cuda_allocation *)allocations;
    context->allocation_capacity = capacity;
    return true;
}

void *cuda_allocate_device(struct cuda_context *context, size_t bytes)
{
    void *on_device = NULL;
    cuda_enter(context);
    cuda_note(context, "cudaMalloc",
              reserve_allocation(context) ? cudaMalloc(&on_device, bytes ? bytes : 1)
                                          : cudaErrorMemoryAllocation);
    if (on_device)
        context->allocations[context->allocation_count++] = {on_device, bytes};
    return on_device;
}

void cuda_release_device(struct cuda_context *context, void *on_device)
{
    size_t i = 0;
    cuda_enter(context);
    if (!on_device)
        return;
    cuda_note(context, "cudaFree", cudaFree(on_device));
    while (i < context->allocation_count && context->allocations[i].on_device != on_device)
        i++;
    if (i < context->allocation_count)
        context->allocations[i] = context->allocations[--context->allocation_count];
}

static uint64_t memory_used(struct device *device)
{
    const struct cuda_context *context = context_of(device);
    uint64_t bytes = 0;
    for (size_t i = 0; i < context->allocation_count; i++)
        bytes += context->allocations[i].bytes;
    return bytes;
}

void *cuda_allocate_host(struct cuda_context *context, size_t bytes)
{
    void *host = NULL;
    cuda_enter(context);
    cuda_note(context, "cudaMallocHost", cudaMallocHost(&host, bytes ? bytes : 1));
    return host;
}

void cuda_release_host(struct cuda_context *context, void *host)
{
    cuda_enter(context);
    if (host)
        cuda_note(context, "cudaFreeHost", cudaFreeHost(host));
}

static void wait_for_all(struct device *device)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    cuda_note(context, "cudaStreamSynchronize", cuda_wait_stream(context, context->stream));
}

static void clear(struct device *device, void *on_device, size_t bytes)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    cuda_note(context, "cudaMemset", cudaMemsetAsync(on_device, 0, bytes, context->stream));
}

static void copy_and_wait(struct device *device, void *to, const void *from, size_t bytes,
                          enum cudaMemcpyKind kind)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    cuda_note(context, "cudaMemcpy", cudaMemcpyAsync(to, from, bytes, kind, context->stream));
    cuda_note(context, "cudaMemcpy", cuda_wait_stream(context, context->stream));
}

static void copy_in(struct device *device, void *on_device, const void *host, size_t bytes)
{
    copy_and_wait(device, on_device, host, bytes, cudaMemcpyHostToDevice);
}

/* Copies nothing after a failure, so that the caller's memory stays as it was. */
static void copy_out(struct device *device, void *host, const void *on_device, size_t bytes)
{
    if (!context_of(device)->failure[0])
        copy_and_wait(device, host, on_device, bytes, cudaMemcpyDeviceToHost);
}

static void copy_rows(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    cuda_note(context, "cudaMemcpy2D",
              cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows,
                                cudaMemcpyDeviceToDevice, context->stream));
}

/* --- batches --- */

struct device_staging {
    struct staging_sizes sizes;
    unsigned turn;
    char *pinned[2];      /* for batches in other memory; NULL until there is one */
    char *on_device[2];   /* the second one only for batches that are sent ahead */
    cudaEvent_t sent[2];  /* signals that pinned[] is free */
    cudaEvent_t taken[2]; /* signals that on_device[] is free */
};

static void stage_free(struct device *device, struct device_staging *stage)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    for (unsigned i = 0; stage && i < 2; i++) {
        cuda_release_host(context, stage->pinned[i]);
        cuda_release_device(context, stage->on_device[i]);
        if (stage->sent[i])
            cudaEventDestroy(stage->sent[i]);
        if (stage->taken[i])
            cudaEventDestroy(stage->taken[i]);
    }
    free(stage);
}

static bool new_event(struct cuda_context *context, cudaEvent_t *event)
{
    const cudaError_t status = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    cuda_note(context, "cudaEventCreate", status);
    return status == cudaSuccess;
}

static bool fill_stage(struct cuda_context *context, struct device_staging *stage)
{
    const struct staging_sizes *sizes = &stage->sizes;
    const unsigned buffers = sizes->on_device == 0 ? 0 : sizes->ahead ? 2 : 1;
    for (unsigned i = 0; i < 2; i++)
        if (!new_event(context, &stage->sent[i]) || !new_event(context, &stage->taken[i]))
            return false;
    for (unsigned i = 0; i < buffers; i++)
        if (!(stage->on_device[i] = (char *)cuda_allocate_device(context, sizes->on_device)))
            return false;
    return true;
}

struct device_staging *cuda_staging_create(struct cuda_context *context,
                                           const struct staging_sizes *sizes)
{
    struct device_staging *stage = (struct device_staging *)calloc(1, sizeof *stage);
    struct device device = {};
    device.state = context;
    if (!stage) {
        cuda_note(context, "malloc", cudaErrorMemoryAllocation);
        return NULL;
    }
    stage->sizes = *sizes;
    if (fill_stage(context, stage))
        return stage;
    stage_free(&device, stage);
    return NULL;
}

/* Returns the offset of array i in a buffer: a multiple of 64 bytes, as in the plan. */
static size_t array_offset(const struct device_batch *batch, unsigned i)
{
    size_t at = 0;
    for (unsigned k = 0; k < i; k++)
        at += (batch->arrays[k].bytes + 63) / 64 * 64;
    return at;
}

/* Copies a batch to a pinned buffer, which its parts point to from then on. Returns false with a
 * failure noted. */
static bool pin_batch(struct cuda_context *context, struct device_staging *stage, unsigned turn,
                      struct device_batch *batch)
{
    cuda_note(context, "a batch", cuda_wait_event(context, stage->sent[turn]));
    if (!stage->pinned[turn])
        stage->pinned[turn] = (char *)cuda_allocate_host(context, stage->sizes.batch);
    if (!stage->pinned[turn])
        return false;
    for (unsigned i = 0; i < BATCH_ARRAYS; i++) {
        struct batch_array *array = &batch->arrays[i];
        char *pinned = stage->pinned[turn] + array_offset(batch, i);
        if (array->bytes)
            memcpy(pinned, array->host, array->bytes);
        array->host = pinned;
    }
    return true;
}

static void copy_array(struct cuda_context *context, void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (bytes)
        cuda_note(context, "a batch", cudaMemcpyAsync(to, from, bytes, kind, stream));
}

/* Signals, when the stream comes there, that it has read the host's arrays. */
static void record_sent(struct cuda_context *context, struct device_staging *stage, unsigned turn,
                        cudaStream_t stream)
{
    cuda_note(context, "a batch", cudaEventRecord(stage->sent[turn], stream));
    cuda_note(context, "a batch",
              cudaEventRecord(context->batches_read[stream == context->sending ? 1 : 0], stream));
}

/* Sends a batch to a buffer while the device computes, and from there to where kernels read. */
static void send_ahead(struct cuda_context *context, struct device_staging *stage, unsigned turn,
                       const struct device_batch *batch)
{
    cuda_note(context, "a batch", cudaStreamWaitEvent(context->sending, stage->taken[turn], 0));
    for (unsigned i = 0; i < BATCH_ARRAYS; i++)
        copy_array(context, stage->on_device[turn] + array_offset(batch, i), batch->arrays[i].host,
                   batch->arrays[i].bytes, cudaMemcpyHostToDevice, context->sending);
    record_sent(context, stage, turn, context->sending);
    cuda_note(context, "a batch", cudaStreamWaitEvent(context->stream, stage->sent[turn], 0));
    for (unsigned i = 0; i < BATCH_ARRAYS; i++) {
        const struct batch_array *array = &batch->arrays[i];
        const char *staged = stage->on_device[turn] + array_offset(batch, i);
        if (array->channels)
            cuda_normalise(context, array, (const uint8_t *)staged, &batch->scale);
        else
            copy_array(context, array->on_device, staged, array->bytes, cudaMemcpyDeviceToDevice,
                       context->stream);
    }
    cuda_note(context, "a batch", cudaEventRecord(stage->taken[turn], context->stream));
}

/* Sends a batch after the work that is enqueued; samples pass through the first buffer. */
static void send_in_order(struct cuda_context *context, struct device_staging *stage, unsigned turn,
                          const struct device_batch *batch)
{
    for (unsigned i = 0; i < BATCH_ARRAYS; i++) {
        const struct batch_array *array = &batch->arrays[i];
        char *staged = stage->on_device[0] + array_offset(batch, i);
        copy_array(context, array->channels ? staged : array->on_device, array->host, array->bytes,
                   cudaMemcpyHostToDevice, context->stream);
        if (array->channels)
            cuda_normalise(context, array, (const uint8_t *)staged, &batch->scale);
    }
    record_sent(context, stage, turn, context->stream);
}

static void send(struct device *device, struct device_staging *stage,
                 const struct device_batch *batch)
{
    struct cuda_context *context = context_of(device);
    struct device_batch sent = *batch;
    const unsigned turn = stage->turn;
    stage->turn = 1 - turn;
    cuda_enter(context);
    if (!batch->pinned && !pin_batch(context, stage, turn, &sent))
        return;
    if (stage->sizes.ahead && array_offset(&sent, BATCH_ARRAYS) <= stage->sizes.on_device)
        send_ahead(context, stage, turn, &sent);
    else
        send_in_order(context, stage, turn, &sent);
}

static void await_batches(struct device *device)
{
    struct cuda_context *context = context_of(device);
    for (cudaEvent_t event : context->batches_read)
        cuda_await_event(context, event);
}

/* --- events --- */

struct device_event {
    cudaEvent_t event;
};

struct device_event *cuda_event_create(struct cuda_context *context)
{
    struct device_event *event = (struct device_event *)calloc(1, sizeof *event);
    cuda_enter(context);
    if (event && new_event(context, &event->event))
        return event;
    if (!event)
        cuda_note(context, "malloc", cudaErrorMemoryAllocation);
    free(event);
    return NULL;
}

static void event_free(struct device *device, struct device_event *event)
{
    cuda_enter(context_of(device));
    if (event)
        cudaEventDestroy(event->event);
    free(event);
}

/* Records an event. During a capture it becomes part of the graph, and every replay records it. */
static void event_record(struct device *device, struct device_event *event)
{
    struct cuda_context *context = context_of(device);
    cuda_note(context, "cudaEventRecord",
              context->recording
                  ? cudaEventRecordWithFlags(event->event, context->stream, cudaEventRecordExternal)
                  : cudaEventRecord(event->event, context->stream));
}

static void event_wait(struct device *device, struct device_event *event)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    cuda_note(context, "cudaEventSynchronize", cuda_wait_event(context, event->event));
}

static void read_later(struct device *device, void *pinned, const void *on_device, size_t bytes)
{
    struct cuda_context *context = context_of(device);
    cuda_note(context, "the losses",
              cudaMemcpyAsync(pinned, on_device, bytes, cudaMemcpyDeviceToHost, context->stream));
}

static void read_overflow_later(struct device *device, unsigned *pinned)
{
    read_later(device, pinned, &context_of(device)->now->overflow, sizeof *pinned);
}

/* --- recordings --- */

struct device_recording {
    cudaGraphExec_t graph;
};

static void record_begin(struct device *device)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    context->failure_kind_before = context->failure_kind;
    memcpy(context->failure_before, context->failure, sizeof context->failure);
    context->recording = true;
    cuda_note(context, "cudaStreamBeginCapture",
              cudaStreamBeginCapture(context->stream, cudaStreamCaptureModeThreadLocal));
}

static struct device_recording *instantiate(cudaGraph_t graph, char *reason, size_t size)
{
    struct device_recording *recording = (struct device_recording *)calloc(1, sizeof *recording);
    const cudaError_t status =
        recording ? cudaGraphInstantiate(&recording->graph, graph, 0) : cudaErrorMemoryAllocation;
    if (status == cudaSuccess)
        return recording;
    snprintf(reason, size, "cudaGraphInstantiate: %s", cudaGetErrorString(status));
    free(recording);
    return NULL;
}

/* Ends the capture. If it failed, nothing was computed, and its failure is moved from the context
 * to `reason`. */
static struct device_recording *record_end(struct device *device, char *reason, size_t size)
{
    struct cuda_context *context = context_of(device);
    cudaGraph_t graph = NULL;
    struct device_recording *recording = NULL;
    const cudaError_t status = cudaStreamEndCapture(context->stream, &graph);
    if (context->failure[0] && !context->failure_before[0])
        snprintf(reason, size, "%s", context->failure);
    else if (status != cudaSuccess || !graph)
        snprintf(reason, size, "cudaStreamEndCapture: %s", cudaGetErrorString(status));
    else
        recording = instantiate(graph, reason, size);
    context->recording = false;
    if (graph)
        cudaGraphDestroy(graph);
    if (recording)
        return recording;
    cudaGetLastError();
    context->failure_kind = context->failure_kind_before;
    memcpy(context->failure, context->failure_before, sizeof context->failure);
    return NULL;
}

static void replay(struct device *device, struct device_recording *recording)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    if (cuda_group_is_sound(context))
        cuda_note(context, "cudaGraphLaunch", cudaGraphLaunch(recording->graph, context->stream));
}

static void recording_free(struct device *device, struct device_recording *recording)
{
    cuda_enter(context_of(device));
    if (recording)
        cudaGraphExecDestroy(recording->graph);
    free(recording);
}

/* --- process groups --- */

static void all_gather(struct device *device, void *all, const void *local, size_t bytes)
{
    cuda_all_gather(context_of(device), "the losses of all GPUs", all, local, bytes);
}

static void all_reduce_mean(struct device *device, float *values, size_t count)
{
    cuda_all_reduce_mean(context_of(device), values, count);
}

/* --- stamps --- */

static bool make_stamps(struct cuda_context *context, size_t needed)
{
    if (needed <= context->stamp_count)
        return true;
    cudaEvent_t *stamps = (cudaEvent_t *)realloc(context->stamps, needed * sizeof *context->stamps);
    if (!stamps)
        return false;
    context->stamps = stamps;
    while (context->stamp_count < needed) {
        const cudaError_t status = cudaEventCreate(&stamps[context->stamp_count]);
        cuda_note(context, "cudaEventCreate", status);
        if (status != cudaSuccess)
            return false;
        context->stamp_count++;
    }
    return true;
}

static void stamp(struct device *device, size_t i)
{
    struct cuda_context *context = context_of(device);
    cuda_enter(context);
    context->measuring = i % 2 == 0;
    if (i == 0) /* the first layer of a pass */
        cuda_gate_close(context);
    if (make_stamps(context, i + 1))
        cuda_note(context, "cudaEventRecord", cudaEventRecord(context->stamps[i], context->stream));
}

static double stamp_seconds(struct device *device, size_t from, size_t to)
{
    struct cuda_context *context = context_of(device);
    float milliseconds = 0;
    cuda_enter(context);
    if (to >= context->stamp_count)
        return 0;
    cuda_note(context, "cudaEventSynchronize", cuda_wait_event(context, context->stamps[to]));
    cuda_note(context, "cudaEventElapsedTime",
              cudaEventElapsedTime(&milliseconds, context->stamps[from], context->stamps[to]));
    return (double)milliseconds * 1e-3;
}

/* --- matrix products --- */

static struct cuda_product *next_product(struct cuda_context *context)
{
    if (context->product_count == context->product_capacity) {
        const size_t capacity = 2 * context->product_capacity + 64;
        void *products = realloc(context->products, capacity * sizeof *context->products);
        if (!products)
            return NULL;
        context->products = (struct cuda_product *)products;
        memset(context->products + context->product_capacity, 0,
               (capacity - context->product_capacity) * sizeof *context->products);
        context->product_capacity = capacity;
    }
    struct cuda_product *product = &context->products[context->product_count];
    const bool made = (product->begin || cudaEventCreate(&product->begin) == cudaSuccess) &&
                      (product->end || cudaEventCreate(&product->end) == cudaSuccess);
    return made ? product : NULL;
}

void cuda_product_begin(struct cuda_context *context, enum gemm_kind kind, size_t m, size_t n,
                        size_t k, size_t count)
{
    struct cuda_product *product = context->measuring ? next_product(context) : NULL;
    if (!product) {
        context->measuring = false; /* out of memory: only layers are measured */
        return;
    }
    product->kind = kind;
    product->m = m;
    product->n = n;
    product->k = k;
    product->count = count;
    cuda_note(context, "cudaEventRecord", cudaEventRecord(product->begin, context->stream));
}

void cuda_product_end(struct cuda_context *context)
{
    if (context->measuring)
        cuda_note(
            context, "cudaEventRecord",
            cudaEventRecord(context->products[context->product_count++].end, context->stream));
}

static bool refused_call(struct device *device, size_t i, struct device_refusal *refusal)
{
    const struct cuda_context *context = context_of(device);
    if (i >= context->refusal_count)
        return false;
    *refusal = context->refusals[i];
    return true;
}

static bool take_product(struct device *device, struct gemm_row *row)
{
    struct cuda_context *context = context_of(device);
    float milliseconds = 0;
    if (context->product_count == 0)
        return false;
    const struct cuda_product *product = &context->products[--context->product_count];
    cuda_note(context, "cudaEventSynchronize", cuda_wait_event(context, product->end));
    cuda_note(context, "cudaEventElapsedTime",
              cudaEventElapsedTime(&milliseconds, product->begin, product->end));
    *row = {};
    row->kind = product->kind;
    row->m = product->m;
    row->n = product->n;
    row->k = product->k;
    row->calls = product->count;
    row->seconds = (double)milliseconds * 1e-3;
    return true;
}

void cuda_forget_measurements(struct cuda_context *context)
{
    for (size_t i = 0; i < context->stamp_count; i++)
        cudaEventDestroy(context->stamps[i]);
    for (size_t i = 0; i < context->product_capacity; i++) {
        if (context->products[i].begin)
            cudaEventDestroy(context->products[i].begin);
        if (context->products[i].end)
            cudaEventDestroy(context->products[i].end);
    }
    free(context->stamps);
    free(context->products);
}

const struct device_backend cuda_backend_functions = {
    .check = NULL, /* cuda.c fills the members that are NULL, which set an error */
    .wait = wait_for_all,
    .memory_used = memory_used,
    .clear = clear,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_rows = copy_rows,
    .mix = cuda_mix,
    .average = cuda_average,
    .allocate_pinned = NULL,
    .release_pinned = NULL,
    .staging_create = NULL,
    .staging_free = stage_free,
    .send = send,
    .await_batches = await_batches,
    .read_later = read_later,
    .event_create = NULL,
    .event_free = event_free,
    .event_record = event_record,
    .event_wait = event_wait,
    .set_iteration_values = cuda_set_iteration_values,
    .check_loss = cuda_check_loss,
    .read_overflow_later = read_overflow_later,
    .record_begin = record_begin,
    .record_end = record_end,
    .replay = replay,
    .recording_free = recording_free,
    .join = NULL,
    .leave = cuda_leave_group,
    .make_group_id = NULL,
    .join_processes = NULL,
    .all_gather = all_gather,
    .all_reduce_mean = all_reduce_mean,
    .set_standalone = cuda_set_standalone,
    .poll = cuda_poll,
    .stamp = stamp,
    .stamp_seconds = stamp_seconds,
    .take_product = take_product,
    .refused_call = refused_call,
};
