// S5 for ns-3 3.44: one NewReno flow over a wire of 10 Mbit/s with a queue of 100 packets.
// `peers.py` runs it beside airwnd with the same scenario; it prints the results as one line of JSON.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

static uint64_t g_received = 0;

static void OnReceived(Ptr<const Packet> packet, const Address &) { g_received += packet->GetSize(); }

static NetDeviceContainer Wire(Ptr<Node> from, Ptr<Node> to, const char *rate, const char *delay, const char *queue) {
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue(rate));
    wire.SetChannelAttribute("Delay", StringValue(delay));
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
    return wire.Install(from, to);
}

int main(int argc, char **argv) {
    double duration = 60;
    CommandLine command;
    command.AddValue("duration", "seconds", duration);
    command.Parse(argc, argv);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));

    NodeContainer nodes;
    nodes.Create(3);
    InternetStackHelper().Install(nodes);
    const NetDeviceContainer wires[] = {
        Wire(nodes.Get(0), nodes.Get(1), "1Gbps", "1us", "100000p"),
        Wire(nodes.Get(1), nodes.Get(2), "10Mbps", "25ms", "100p"),
    };
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.255.0");
    addresses.Assign(wires[0]);
    addresses.SetBase("10.2.0.0", "255.255.255.0");
    const Ipv4Address receiver = addresses.Assign(wires[1]).GetAddress(1);
    // The queues of the devices are the only ones.
    TrafficControlHelper none;
    for (const NetDeviceContainer &wire : wires) none.Uninstall(wire);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sink.Install(nodes.Get(2)).Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&OnReceived));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, 5000));
    bulk.SetAttribute("SendSize", UintegerValue(1000));
    bulk.Install(nodes.Get(0)).Start(Seconds(0));

    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    std::cout << "{\"goodput_kbps\": " << g_received * 8 / duration / 1000 << ", \"simulated_s\": " << duration
              << ", \"events\": " << Simulator::GetEventCount() << "}\n";
    Simulator::Destroy();
}
