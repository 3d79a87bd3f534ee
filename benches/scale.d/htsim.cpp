// Runs benches/scale's cases with csg-htsim's library: `htsim CASE MICROSECONDS [K] [count]`.
//
// s1, s2      those of scenarios/bench
// fat-tree    a permutation of the hosts of a fat tree of K-port switches, 100 Gbit/s, a queue of 1 000 packets a port
// lossless    the same with pause frames between ports, and RoCE in place of TCP
//
// Prints one JSON document: the CPU seconds of the event loop, the peak RSS of the process in bytes, and with `count`
// the packet-hops, packets that a queue accepts. A run that counts calls a logger for each of these, so its time means
// nothing.

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "fat_tree_switch.h"
#include "fat_tree_topology.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "queue_lossless_input.h"
#include "roce.h"
#include "tcp.h"

namespace {

EventList events;
const int PACKET = 1500;
const int QUEUE_PACKETS = 1000;

class Hops : public QueueLogger {
  public:
    uint64_t accepted = 0;

    void logQueue(BaseQueue &, QueueEvent event, Packet &) override { accepted += event == PKT_ENQUEUE; }
};

// Where to count; null in a run that is timed.
Hops *hops = nullptr;

// A queue's rate in Mbit/s and its limit in bytes.
Queue *queue(uint64_t rate, mem_b limit) { return new Queue(speedFromMbps(rate), limit, events, hops); }

// A TCP flow with a window of at most `window` bytes.
void tcp(Route &there, Route &back, TcpRtxTimerScanner &timers, simtime_picosec start, uint32_t window) {
    TcpSrc *source = new TcpSrc(nullptr, nullptr, events);
    TcpSink *sink = new TcpSink();
    source->set_ssthresh(window);
    source->_maxcwnd = window;
    timers.registerTcp(*source);
    there.push_back(sink);
    back.push_back(source);
    source->connect(there, back, *sink, start);
}

// `flows` flows through one bottleneck of `rate` Mbit/s, `limit` bytes and `delay` microseconds. Each has a link of
// 1 Gbit/s of its own before it, and with `egress` one behind it.
void dumbbell(int flows, uint64_t rate, mem_b limit, double delay, bool egress, uint32_t window,
              TcpRtxTimerScanner &timers) {
    const mem_b roomy = 16000000;
    Queue *there_queue = queue(rate, limit), *back_queue = queue(rate, limit);
    Pipe *there_pipe = new Pipe(timeFromUs(delay), events), *back_pipe = new Pipe(timeFromUs(delay), events);
    for (int flow = 0; flow < flows; flow++) {
        Route &there = *new Route(), &back = *new Route();
        auto link = [&](Route &route) {
            route.push_back(queue(1000, roomy));
            route.push_back(new Pipe(timeFromUs(1.0), events));
        };
        link(there);
        there.push_back(there_queue);
        there.push_back(there_pipe);
        if (egress) {
            link(there);
            link(back);
        }
        back.push_back(back_queue);
        back.push_back(back_pipe);
        link(back);
        tcp(there, back, timers, timeFromUs(flow * 1000.0), window);
    }
}

// Counts at the queues of one kind of link, if this run counts.
void count(const std::vector<std::vector<std::vector<BaseQueue *>>> &queues) {
    for (const auto &node : queues) {
        for (const auto &bundle : node) {
            for (BaseQueue *queue : bundle) {
                if (hops && queue) {
                    queue->setLogger(hops);
                }
            }
        }
    }
}

// The way of a host's packets to its first switch, which routes them.
Route *to_switch(FatTreeTopology *tree, uint32_t host) {
    const uint32_t edge = tree->HOST_POD_SWITCH(host);
    Route *route = new Route();
    route->push_back(tree->queues_ns_nlp[host][edge][0]);
    route->push_back(tree->pipes_ns_nlp[host][edge][0]);
    route->push_back(tree->queues_ns_nlp[host][edge][0]->getRemoteEndpoint());
    return route;
}

// A RoCE flow without end.
void roce(FatTreeTopology *tree, uint32_t from, uint32_t to, simtime_picosec start, linkspeed_bps rate) {
    RoceSrc *source = new RoceSrc(nullptr, nullptr, events, rate);
    RoceSink *sink = new RoceSink();
    source->set_dst(to);
    sink->set_src(from);
    const uint32_t first = tree->HOST_POD_SWITCH(from), last = tree->HOST_POD_SWITCH(to);
    dynamic_cast<HostQueue *>(tree->queues_ns_nlp[from][first][0])->addHostSender(source);
    source->connect(to_switch(tree, from), to_switch(tree, to), *sink, start);
    tree->switches_lp[first]->addHostPort(from, source->flow_id(), source);
    tree->switches_lp[last]->addHostPort(to, source->flow_id(), sink);
}

// Each host of a fat tree sends to another one, over a path that is drawn.
void fat_tree(int k, bool lossless, TcpRtxTimerScanner &timers) {
    const linkspeed_bps rate = speedFromMbps(uint64_t(100000));
    const uint32_t hosts = k * k * k / 4;
    // A port pauses the other end from 15 packets of its own, and resumes it at 12.
    LosslessInputQueue::_high_threshold = 15 * PACKET;
    LosslessInputQueue::_low_threshold = 12 * PACKET;
    FatTreeSwitch::set_strategy(FatTreeSwitch::ECMP);
    FatTreeTopology *tree = new FatTreeTopology(hosts, rate, memFromPkt(QUEUE_PACKETS), nullptr, &events, nullptr,
                                                lossless ? LOSSLESS_INPUT : RANDOM, timeFromUs(1.0), 0);
    for (const auto *queues : {&tree->queues_ns_nlp, &tree->queues_nlp_nup, &tree->queues_nup_nc, &tree->queues_nc_nup,
                               &tree->queues_nup_nlp, &tree->queues_nlp_ns}) {
        count(*queues);
    }
    std::mt19937 draw(1);
    // A cycle through all hosts in drawn order: none sends to itself.
    std::vector<uint32_t> order(hosts);
    for (uint32_t host = 0; host < hosts; host++) {
        std::swap(order[host] = host, order[draw() % (host + 1)]);
    }
    for (uint32_t at = 0; at < hosts; at++) {
        const uint32_t from = order[at], to = order[(at + 1) % hosts];
        if (lossless) {
            roce(tree, from, to, at * 1000, rate);
            continue;
        }
        const std::vector<const Route *> &forth = *tree->get_bidir_paths(from, to, false);
        const std::vector<const Route *> &home = *tree->get_bidir_paths(to, from, false);
        Route &there = *new Route(*forth[draw() % forth.size()]), &back = *new Route(*home[draw() % home.size()]);
        tcp(there, back, timers, at * 1000, 0xffffffff);
    }
}

// The peak RSS of this process in bytes. `getrusage` would include that of the process that started it.
uint64_t peak_rss() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "VmHWM:" && status >> word) {
            return std::stoull(word) * 1024;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const bool counts = !words.empty() && words.back() == "count";
    if (counts) {
        hops = new Hops();
        words.pop_back();
    }
    if (words.size() < 2) {
        std::cerr << "usage: htsim CASE MICROSECONDS [K] [count]" << std::endl;
        return 2;
    }
    Packet::set_packet_size(PACKET);
    srand(1);
    EventList::setEndtime(timeFromUs(atof(words[1].c_str())));
    TcpRtxTimerScanner timers(timeFromUs(10000.0), events);
    if (words[0] == "s1") {
        dumbbell(1, 500, 16000000, 99999.0, false, 14000000, timers);
    } else if (words[0] == "s2") {
        dumbbell(100, 10000, 1250000, 4998.0, true, 0xffffffff, timers);
    } else if ((words[0] == "fat-tree" || words[0] == "lossless") && words.size() == 3) {
        fat_tree(atoi(words[2].c_str()), words[0] == "lossless", timers);
    } else {
        std::cerr << "no case " << words[0] << std::endl;
        return 2;
    }
    const std::clock_t began = std::clock();
    while (EventList::doNextEvent()) {
    }
    const double took = double(std::clock() - began) / CLOCKS_PER_SEC;
    std::cout << "\n{\"cpu_seconds\": " << took << ", \"peak_rss_bytes\": " << peak_rss();
    std::cout << ", \"packet_hops\": " << (counts ? hops->accepted : 0) << "}" << std::endl;
}
