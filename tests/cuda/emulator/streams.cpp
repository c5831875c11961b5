/* Streams, events and graphs.
 *
 * A stream is a queue. Without delay each task is done when it is enqueued; with delay tasks wait
 * until somebody waits for them, or until a random draw lets a stream advance: as on a GPU, every
 * order can happen that streams and events allow. An event counts how often it was recorded and how
 * often it has happened; a wait is for the number of records at that time. A graph is a list of the
 * work that was enqueued while its stream was captured. With a pace every task takes at least so
 * long, so that tests can measure which tasks a time covers. Work of several GPUs together is
 * repeated until all have joined; meanwhile a query whether something has happened lets the others
 * advance.
 */
#include "cuda_runtime.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

struct emulated_event {
    uint64_t asked, happened;
    std::chrono::steady_clock::time_point time;
};
struct task {
    std::function<void()> work; /* one of these four is set */
    std::function<bool()> tries;
    cudaEvent_t wait, happens;
    uint64_t number; /* the number of the record that is waited for, or that happens */
};
struct emulated_graph {
    std::vector<task> tasks;
};
struct emulated_stream {
    int gpu;
    emulated_graph *capturing;
    std::deque<task> tasks;
};

static emulated_stream default_stream;
static std::vector<emulated_stream *> streams = {&default_stream};
static uint64_t delay;
static unsigned pace; /* microseconds */
static size_t tasks_done;
static std::atomic<size_t> host_functions; /* that a stream has begun and still waits for */
static size_t graphs;
static bool refuse_graphs;

extern "C" void emulator_refuse_graphs(bool refuse)
{
    refuse_graphs = refuse;
}

extern "C" size_t emulator_graphs_run(void)
{
    return graphs;
}

/* --- doing enqueued work --- */

static bool is_blocked(const emulated_stream *stream)
{
    const task &first = stream->tasks.front();
    return first.wait && first.wait->happened < first.number;
}

/* Does the first task of a stream. Returns false if there is none or it must wait. A GPU that has
 * failed joins no collective. */
static bool step(emulated_stream *stream)
{
    if (stream->tasks.empty() || is_blocked(stream))
        return false;
    const task first = stream->tasks.front();
    if (first.tries && emulator_broken_gpu(stream->gpu) == cudaSuccess && !first.tries())
        return false;
    stream->tasks.pop_front();
    if (first.happens) {
        first.happens->happened = std::max(first.happens->happened, first.number);
        first.happens->time = std::chrono::steady_clock::now();
    } else if (first.work) {
        first.work();
        tasks_done++;
        if (pace)
            std::this_thread::sleep_for(std::chrono::microseconds(pace));
    }
    return true;
}

static bool step_any(void)
{
    for (emulated_stream *stream : streams)
        if (step(stream))
            return true;
    return false;
}

void emulator_advance(void)
{
    emulator_guard guard(emulator_lock);
    while (step_any())
        ;
}

/* Does as much as possible without the threads of other GPUs: first this stream, and the others
 * only as far as it needs them. */
static void go_on(emulated_stream *stream)
{
    while (!stream->tasks.empty() && (step(stream) || step_any()))
        ;
}

static bool is_done(const std::function<bool(const emulated_stream *)> &wanted)
{
    emulator_guard guard(emulator_lock);
    bool done = true;
    for (emulated_stream *stream : streams)
        if (wanted(stream)) {
            go_on(stream);
            done = done && stream->tasks.empty();
        }
    return done;
}

/* Must be called without the lock, because other threads may have to enqueue work first. */
static void finish(const std::function<bool(const emulated_stream *)> &wanted)
{
    for (size_t tries = 0; !is_done(wanted); tries++) {
        if (tries == 30000) {
            fprintf(stderr, "emulator: a stream waits for what never happens\n");
            abort();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

static void finish_stream(const emulated_stream *wanted)
{
    finish([=](const emulated_stream *stream) { return stream == wanted; });
}

void emulator_finish_all(void)
{
    finish([](const emulated_stream *stream) { return stream->gpu == emulator_gpu(); });
}

static uint64_t draw(uint64_t below)
{
    delay = delay * 6364136223846793005u + 1442695040888963407u;
    return (delay >> 33) % below;
}

static void go_on_a_bit(void)
{
    if (delay == EMULATOR_LAZY || draw(8) > 0)
        return;
    emulated_stream *stream = streams[draw(streams.size())];
    for (uint64_t left = draw(30); left > 0 && step(stream); left--)
        ;
}

extern "C" void emulator_set_delay(uint64_t seed)
{
    finish([](const emulated_stream *) { return true; });
    emulator_guard guard(emulator_lock);
    delay = seed;
}

extern "C" size_t emulator_tasks_done(void)
{
    emulator_guard guard(emulator_lock);
    return tasks_done;
}

extern "C" void emulator_set_pace(unsigned microseconds)
{
    emulator_guard guard(emulator_lock);
    pace = microseconds;
}

static void enqueue(emulated_stream *stream, const task &added)
{
    stream->tasks.push_back(added);
    if (delay)
        go_on_a_bit();
    else
        go_on(stream);
}

static emulated_stream *stream_of(cudaStream_t stream)
{
    return stream ? stream : &default_stream;
}

static cudaError_t submit(cudaStream_t stream, const task &added)
{
    emulator_guard guard(emulator_lock);
    emulated_stream *at = stream_of(stream);
    if (stream && at->gpu != emulator_gpu())
        return emulator_note(cudaErrorInvalidResourceHandle);
    if (at->capturing)
        at->capturing->tasks.push_back(added);
    else
        enqueue(at, added);
    return cudaSuccess;
}

cudaError_t emulator_submit(cudaStream_t stream, std::function<void()> work)
{
    return submit(stream, {work, nullptr, nullptr, nullptr, 0});
}

cudaError_t emulator_submit_tries(cudaStream_t stream, std::function<bool()> tries)
{
    return submit(stream, {nullptr, tries, nullptr, nullptr, 0});
}

/* The function runs in a thread of its own, as on a GPU; the stream goes on when it has returned.
 */
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    enum { QUEUED, RUNNING, DONE };
    const auto state = std::make_shared<std::atomic<int>>(QUEUED);
    return emulator_submit_tries(stream, [=] {
        if (*state == QUEUED) {
            *state = RUNNING;
            host_functions++;
            std::thread([=] {
                function(data);
                *state = DONE;
            }).detach();
        } else if (*state == DONE) {
            host_functions--;
        }
        return *state == DONE;
    });
}

/* --- streams --- */

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    emulator_guard guard(emulator_lock);
    *stream = new emulated_stream();
    (*stream)->gpu = emulator_gpu();
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    finish_stream(stream);
    emulator_guard guard(emulator_lock);
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream_of(stream)->capturing)
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    finish_stream(stream_of(stream));
    return emulator_broken();
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    emulator_guard guard(emulator_lock);
    if (stream_of(stream)->capturing)
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    go_on(stream_of(stream));
    if (emulator_broken() != cudaSuccess)
        return emulator_broken();
    return stream_of(stream)->tasks.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    emulator_guard guard(emulator_lock);
    if (stream_of(stream)->capturing)
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    enqueue(stream_of(stream), {nullptr, nullptr, event, nullptr, event->asked});
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
    enqueue(stream, {nullptr, nullptr, nullptr, event, event->asked});
}

/* Inside a capture only events that are also visible outside reach this function. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    emulator_guard guard(emulator_lock);
    emulated_stream *at = stream_of(stream);
    if (stream && at->gpu != emulator_gpu())
        return emulator_note(cudaErrorInvalidResourceHandle);
    if ((flags == cudaEventRecordExternal) != (at->capturing != nullptr))
        return emulator_note(cudaErrorInvalidValue);
    if (at->capturing)
        at->capturing->tasks.push_back({nullptr, nullptr, nullptr, event, 0});
    else
        ask_event(at, event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

static bool has_happened(cudaEvent_t event)
{
    return event->happened >= event->asked;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    emulator_guard guard(emulator_lock);
    while (!has_happened(event) && step_any())
        ;
    if (emulator_broken() != cudaSuccess)
        return emulator_broken();
    return has_happened(event) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    for (;;) {
        {
            emulator_guard guard(emulator_lock);
            while (!has_happened(event) && step_any())
                ;
            if (has_happened(event) || host_functions == 0)
                return emulator_broken();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t last)
{
    emulator_guard guard(emulator_lock);
    if (!has_happened(first) || !has_happened(last))
        return emulator_note(cudaErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return cudaSuccess;
}

/* --- graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    emulator_guard guard(emulator_lock);
    if (!stream || stream->capturing) /* the default stream cannot be captured */
        return emulator_note(cudaErrorStreamCaptureUnsupported);
    stream->capturing = new emulated_graph();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    emulator_guard guard(emulator_lock);
    if (!stream_of(stream)->capturing)
        return emulator_note(cudaErrorInvalidValue);
    *graph = stream->capturing;
    stream->capturing = nullptr;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    if (refuse_graphs)
        return emulator_note(cudaErrorNotSupported);
    *executable = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    emulator_guard guard(emulator_lock);
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
