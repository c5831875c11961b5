/* Streams, events and graphs.
 *
 * A stream is a queue. Without delay each task is done when it comes; with it tasks wait until
 * somebody waits for them, or until a draw lets a stream go on: as on a GPU, all orders may happen
 * that streams and events allow. An event counts how often it was asked for and how often it has
 * happened; who waits for it waits for the number of asks there were. A graph is a list of what was
 * enqueued while its stream was captured. */
#include "cuda_runtime.h"

#include <chrono>
#include <cstdio>
#include <deque>
#include <vector>

struct emulated_event {
    uint64_t asked, happened;
    std::chrono::steady_clock::time_point time;
};
struct task {
    std::function<void()> work; /* one of these three */
    cudaEvent_t wait, happens;
    uint64_t number; /* of the ask that is waited for, or that happens */
};
struct emulated_graph {
    std::vector<task> tasks;
};
struct emulated_stream {
    emulated_graph *capturing;
    std::deque<task> tasks;
};

static emulated_stream default_stream;
static std::vector<emulated_stream *> streams = {&default_stream};
static uint64_t delay;
static size_t graphs;

extern "C" size_t emulator_graphs_run(void)
{
    return graphs;
}

/* --- doing what was enqueued --- */

static bool is_blocked(const emulated_stream *stream)
{
    const task &first = stream->tasks.front();
    return first.wait && first.wait->happened < first.number;
}

/* The first task of a stream; false: there is none, or it must wait. */
static bool step(emulated_stream *stream)
{
    if (stream->tasks.empty() || is_blocked(stream))
        return false;
    const task first = stream->tasks.front();
    stream->tasks.pop_front();
    if (first.happens) {
        first.happens->happened = std::max(first.happens->happened, first.number);
        first.happens->time = std::chrono::steady_clock::now();
    } else if (first.work)
        first.work();
    return true;
}

static bool step_any(void)
{
    for (emulated_stream *stream : streams)
        if (step(stream))
            return true;
    return false;
}

/* The stream itself goes first; the others only as far as it needs them. */
static void finish(emulated_stream *stream)
{
    while (!stream->tasks.empty())
        if (!step(stream) && !step_any()) {
            fprintf(stderr, "emulator: a stream waits for an event that never happens\n");
            abort();
        }
}

void emulator_finish_all(void)
{
    for (emulated_stream *stream : streams)
        finish(stream);
}

static uint64_t draw(uint64_t below)
{
    delay = delay * 6364136223846793005u + 1442695040888963407u;
    return (delay >> 33) % below;
}

static void go_on_a_bit(void)
{
    if (draw(8) > 0)
        return;
    emulated_stream *stream = streams[draw(streams.size())];
    for (uint64_t left = draw(30); left > 0 && step(stream); left--)
        ;
}

extern "C" void emulator_set_delay(uint64_t seed)
{
    emulator_finish_all();
    delay = seed;
}

static void enqueue(emulated_stream *stream, const task &added)
{
    stream->tasks.push_back(added);
    if (delay)
        go_on_a_bit();
    else
        finish(stream);
}

static emulated_stream *stream_of(cudaStream_t stream)
{
    return stream ? stream : &default_stream;
}

cudaError_t emulator_submit(cudaStream_t stream, std::function<void()> work)
{
    emulated_stream *at = stream_of(stream);
    if (at->capturing)
        at->capturing->tasks.push_back({work, nullptr, nullptr, 0});
    else
        enqueue(at, {work, nullptr, nullptr, 0});
    return cudaSuccess;
}

/* --- streams --- */

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = new emulated_stream();
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    finish(stream);
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream_of(stream)->capturing)
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    finish(stream_of(stream));
    return emulator_broken();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    if (stream_of(stream)->capturing)
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    enqueue(stream_of(stream), {nullptr, event, nullptr, event->asked});
    return cudaSuccess;
}

/* --- events --- */

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new emulated_event();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    emulator_finish_all();
    delete event;
    return cudaSuccess;
}

static void ask_event(emulated_stream *stream, cudaEvent_t event)
{
    event->asked++;
    enqueue(stream, {nullptr, nullptr, event, event->asked});
}

/* Within a recording only events that are also seen from without are meant here. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    emulated_stream *at = stream_of(stream);
    if ((flags == cudaEventRecordExternal) != (at->capturing != nullptr))
        return emulator_note(cudaErrorInvalidValue);
    if (at->capturing)
        at->capturing->tasks.push_back({nullptr, nullptr, event, 0});
    else
        ask_event(at, event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return event->happened < event->asked ? cudaErrorNotReady : emulator_broken();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (event->happened < event->asked && step_any())
        ;
    return emulator_broken();
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t last)
{
    if (cudaEventQuery(first) != cudaSuccess || cudaEventQuery(last) != cudaSuccess)
        return emulator_note(cudaErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return cudaSuccess;
}

/* --- graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (!stream || stream->capturing) /* the default stream cannot be captured */
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    stream->capturing = new emulated_graph();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (!stream_of(stream)->capturing)
        return emulator_note(cudaErrorInvalidValue);
    *graph = stream->capturing;
    stream->capturing = nullptr;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    *executable = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    graphs++;
    if (emulator_refuse_launch() != cudaSuccess)
        return emulator_broken();
    for (const task &recorded : executable->tasks)
        if (recorded.happens)
            ask_event(stream_of(stream), recorded.happens);
        else
            enqueue(stream_of(stream), recorded);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    emulator_finish_all();
    delete executable;
    return cudaSuccess;
}
