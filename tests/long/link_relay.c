/* link_relay: a network of hosts with a delay and with losses, where the kernel has no netem.
 *
 *   link_relay DELAY_US LOSS_PER_MILLION NAMESPACE...
 *
 * makes a TUN device "relay" in each network namespace (of /run/netns), prints "ready", and passes
 * IPv4 packets between them until it is killed. The last byte of an address is the number of the
 * namespace, from 1. A packet is passed on after the delay, or lost with the probability; which
 * ones are lost depends on nothing but their order. */
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_HOSTS = 16, PACKET = 2048, QUEUE = 8192, DESTINATION = 19, IPV4 = 4 };

struct packet {
    int64_t due; /* nanoseconds */
    int to;      /* file descriptor */
    size_t bytes;
    char data[PACKET];
};

/* The delay is the same for all packets, so they leave in the order in which they came. */
static struct packet queue[QUEUE];
static size_t first, count;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the next of a sequence of numbers that look random (xorshift). */
static uint32_t next_random(void)
{
    static uint32_t state = 2463534242;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Returns the device of a network namespace. */
static int open_device(const char *name)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/run/netns/%s", name);
    const int space = open(path, O_RDONLY);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        fail(path);
    close(space);
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    strcpy(request.ifr_name, "relay");
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0)
        fail("/dev/net/tun");
    return device;
}

/* Reads the packets of a device into the queue; a full queue loses them, as a router does. */
static void take(const struct pollfd *devices, size_t hosts, size_t from, int64_t delay,
                 uint32_t loss)
{
    for (;;) {
        struct packet *packet = &queue[(first + count) % QUEUE];
        if (count == QUEUE)
            packet = &(struct packet){0};
        const ssize_t bytes = read(devices[from].fd, packet->data, PACKET);
        if (bytes <= 0)
            return;
        const size_t host = (unsigned char)packet->data[DESTINATION];
        if (bytes <= DESTINATION || (unsigned char)packet->data[0] >> 4 != IPV4 || host < 1 ||
            host > hosts || count == QUEUE || next_random() % 1000000 < loss)
            continue;
        packet->bytes = (size_t)bytes;
        packet->to = devices[host - 1].fd;
        packet->due = now() + delay;
        count++;
    }
}

/* Passes on what is due. A device that takes no packet loses it. */
static void pass(void)
{
    for (; count && queue[first].due <= now(); first = (first + 1) % QUEUE, count--)
        if (write(queue[first].to, queue[first].data, queue[first].bytes) < 0)
            continue;
}

int main(int argc, char **argv)
{
    struct pollfd devices[MOST_HOSTS];
    const size_t hosts = argc > 3 ? (size_t)argc - 3 : 0;
    if (hosts < 2 || hosts > MOST_HOSTS) {
        fprintf(stderr, "usage: link_relay DELAY_US LOSS_PER_MILLION NAMESPACE NAMESPACE...\n");
        return 2;
    }
    const int64_t delay = (int64_t)(1000 * atof(argv[1]));
    const uint32_t loss = (uint32_t)atoi(argv[2]);
    for (size_t i = 0; i < hosts; i++)
        devices[i] = (struct pollfd){.fd = open_device(argv[i + 3]), .events = POLLIN};
    puts("ready");
    fflush(stdout);
    for (;;) {
        const int64_t wait = count ? queue[first].due - now() : 1000000000;
        const struct timespec limit = {.tv_sec = wait > 0 ? wait / 1000000000 : 0,
                                       .tv_nsec = wait > 0 ? wait % 1000000000 : 0};
        ppoll(devices, hosts, &limit, NULL);
        pass();
        for (size_t i = 0; i < hosts; i++)
            if (devices[i].revents & POLLIN)
                take(devices, hosts, i, delay, loss);
    }
}
