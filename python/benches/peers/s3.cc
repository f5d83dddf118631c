// S3 for ns-3 3.44: a site with three sectors, PSS, NewReno downloads to UEs at the positions of a CSV file.
// `peers.py` runs it beside airwnd with the same scenario; it prints the results as one line of JSON.
#include "ns3/applications-module.h"
#include "ns3/buildings-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

using namespace ns3;

static std::vector<uint64_t> g_received;

static void OnReceived(uint32_t ue, Ptr<const Packet> packet, const Address &) { g_received[ue] += packet->GetSize(); }

static uint32_t NearestSector(const Vector &place) {
    const double degrees = std::atan2(place.y, place.x) * 180 / M_PI;
    uint32_t best = 0;
    double least = 360;
    for (uint32_t sector = 0; sector < 3; ++sector) {
        const double away = std::fabs(std::remainder(degrees - 120.0 * sector, 360));
        if (away < least) {
            least = away;
            best = sector;
        }
    }
    return best;
}

// The columns x_m and y_m of a CSV file whose comments begin with '#'.
static std::vector<Vector> ReadPlaces(const std::string &path) {
    std::ifstream file(path);
    std::vector<Vector> places;
    std::vector<std::string> names;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::vector<std::string> cells;
        std::istringstream row(line);
        for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
        if (names.empty()) {
            names = cells;
            continue;
        }
        double x = 0, y = 0;
        for (size_t i = 0; i < cells.size(); ++i) {
            if (names[i] == "x_m") x = std::stod(cells[i]);
            if (names[i] == "y_m") y = std::stod(cells[i]);
        }
        places.emplace_back(x, y, 1.5);
    }
    return places;
}

int main(int argc, char **argv) {
    std::string places_file;
    double duration = 20, max_power = 23, line_of_sight = 1001;
    const double start = 0.5;
    CommandLine command;
    command.AddValue("places", "CSV file of positions", places_file);
    command.AddValue("duration", "seconds after the start of the first flow", duration);
    command.AddValue("max-power", "maximum transmit power of a UE, dBm", max_power);
    command.AddValue("line-of-sight", "distance up to which there is line of sight, m", line_of_sight);
    command.Parse(argc, argv);
    const std::vector<Vector> places = ReadPlaces(places_file);
    const uint32_t count = places.size();
    if (count == 0) {
        std::cerr << "s3: no positions in " << places_file << "\n";
        return 2;
    }

    Config::SetDefault("ns3::LteEnbRrc::SrsPeriodicity", UintegerValue(80));
    Config::SetDefault("ns3::LteEnbPhy::TxPower", DoubleValue(43));
    Config::SetDefault("ns3::LteUePhy::NoiseFigure", DoubleValue(5));
    Config::SetDefault("ns3::LteUePowerControl::Pcmax", DoubleValue(max_power));
    Config::SetDefault("ns3::LteRlcUm::MaxTxBufferSize", UintegerValue(51200));
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping", EnumValue(LteEnbRrc::RLC_UM_ALWAYS));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(512));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));

    auto lte = CreateObject<LteHelper>();
    auto epc = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(epc);
    lte->SetSchedulerType("ns3::PssFfMacScheduler");
    lte->SetAttribute("PathlossModel", StringValue("ns3::HybridBuildingsPropagationLossModel"));
    for (const char *sigma : {"ShadowSigmaOutdoor", "ShadowSigmaIndoor", "ShadowSigmaExtWalls"})
        lte->SetPathlossModelAttribute(sigma, DoubleValue(0));
    lte->SetPathlossModelAttribute("Los2NlosThr", DoubleValue(line_of_sight));
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(50));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(50));

    NodeContainer enbs, ues, server;
    enbs.Create(3);
    ues.Create(count);
    server.Create(1);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    auto masts = CreateObject<ListPositionAllocator>(), phones = CreateObject<ListPositionAllocator>();
    for (int sector = 0; sector < 3; ++sector) masts->Add(Vector(0, 0, 30));
    for (const Vector &place : places) phones->Add(place);
    mobility.SetPositionAllocator(masts);
    mobility.Install(enbs);
    mobility.SetPositionAllocator(phones);
    mobility.Install(ues);
    BuildingsHelper::Install(enbs);
    BuildingsHelper::Install(ues);

    NetDeviceContainer enb_devices;
    for (int sector = 0; sector < 3; ++sector) {
        lte->SetEnbAntennaModelType("ns3::ParabolicAntennaModel");
        lte->SetEnbAntennaModelAttribute("Beamwidth", DoubleValue(70));
        lte->SetEnbAntennaModelAttribute("MaxAttenuation", DoubleValue(20));
        lte->SetEnbAntennaModelAttribute("Orientation", DoubleValue(sector == 2 ? -120.0 : 120.0 * sector));
        enb_devices.Add(lte->InstallEnbDevice(NodeContainer(enbs.Get(sector))));
    }
    NetDeviceContainer ue_devices = lte->InstallUeDevice(ues);

    InternetStackHelper internet;
    internet.Install(server);
    internet.Install(ues);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    wire.SetDeviceAttribute("Mtu", UintegerValue(1500));
    wire.SetChannelAttribute("Delay", TimeValue(MilliSeconds(10)));
    NetDeviceContainer core = wire.Install(epc->GetPgwNode(), server.Get(0));
    Ipv4AddressHelper addresses;
    addresses.SetBase("1.0.0.0", "255.0.0.0");
    addresses.Assign(core);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())
        ->AddNetworkRouteTo(Ipv4Address("7.0.0.0"), Ipv4Mask("255.0.0.0"), 1);
    Ipv4InterfaceContainer of_ues = epc->AssignUeIpv4Address(ue_devices);

    g_received.resize(count);
    for (uint32_t ue = 0; ue < count; ++ue) {
        routing.GetStaticRouting(ues.Get(ue)->GetObject<Ipv4>())
            ->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
        lte->Attach(ue_devices.Get(ue), enb_devices.Get(NearestSector(places[ue])));
    }
    for (uint32_t ue = 0; ue < count; ++ue) {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        ApplicationContainer received = sink.Install(ues.Get(ue));
        received.Start(Seconds(0.1));
        received.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&OnReceived, ue));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(of_ues.GetAddress(ue), 5000));
        bulk.SetAttribute("SendSize", UintegerValue(512));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.Install(server.Get(0)).Start(Seconds(start + 0.001 * ue));
    }

    Simulator::Stop(Seconds(start + duration));
    Simulator::Run();
    uint64_t bytes = 0;
    for (uint64_t each : g_received) bytes += each;
    std::cout << "{\"goodput_kbps\": " << bytes * 8 / duration / 1000 << ", \"simulated_s\": " << start + duration
              << ", \"events\": " << Simulator::GetEventCount() << "}\n";
    Simulator::Destroy();
}
