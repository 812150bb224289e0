import Foundation
import LFSBackup
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Tests with the kernel's reports as files below a folder.
@Suite("Network and power of the system", .timeLimit(.minutes(10)))
struct SystemStateTests {
    private static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

    private static func route(_ name: String, metric: Int = 100, flags: String = "0003", mask: String = "00000000")
        -> String
    {
        "\(name)\t00000000\t0101A8C0\t\(flags)\t0\t0\t\(metric)\t\(mask)\t0\t0\t0\n"
    }

    struct Interfaces: Sendable {
        var text: String
        var files: [String: String] = [:]
        var links: [String: String] = [:]
        let expected: DeviceState.Network
    }

    static let networks: [Interfaces] = [
        .init(
            text: route("eth0"), files: ["eth0/type": "1\n", "eth0/uevent": "INTERFACE=eth0\nIFINDEX=2\n"],
            expected: .wired),
        .init(
            text: route("wlp2s0"), files: ["wlp2s0/type": "1\n", "wlp2s0/uevent": "DEVTYPE=wlan\nINTERFACE=wlp2s0\n"],
            expected: .wifi),
        .init(text: route("wl0"), files: ["wl0/type": "1\n", "wl0/phy80211/index": "0\n"], expected: .wifi),
        .init(
            text: route("wwan0"), files: ["wwan0/type": "65534\n", "wwan0/uevent": "DEVTYPE=wwan\n"],
            expected: .mobile("wwan0")),
        .init(text: route("rmnet0"), files: ["rmnet0/type": "519\n"], expected: .mobile("rmnet0")),
        // A phone that shares its network looks like Ethernet.
        .init(
            text: route("usb0"), files: ["usb0/type": "1\n"],
            links: ["usb0/device/driver": "../../bus/usb/drivers/rndis_host"], expected: .mobile("usb0")),
        .init(
            text: route("enp1"), files: ["enp1/type": "1\n"],
            links: ["enp1/device/driver": "../../bus/pci/drivers/e1000e"], expected: .wired),
        .init(text: route("tun0"), files: ["tun0/type": "65534\n"], expected: .unknown("tun0")),
        .init(text: route("ppp0"), files: ["ppp0/type": "512\n"], expected: .unknown("ppp0")),
        .init(text: route("gone0"), expected: .unknown("gone0")),
        .init(
            text: route("br0"),
            files: [
                "br0/type": "1\n", "br0/lower_wl0/x": "", "wl0/uevent": "DEVTYPE=wlan\n", "br0/lower_eth0/x": "",
                "eth0/type": "1\n",
            ],
            expected: .wifi),
        .init(text: route("br0"), files: ["br0/type": "1\n", "br0/lower_br0/x": ""], expected: .unknown("br0")),
        // The route with the best metric wins. Routes that are down or reject packets are ignored.
        .init(
            text: route("eth0", metric: 600) + route("wwan0", metric: 50),
            files: ["eth0/type": "1\n", "wwan0/uevent": "DEVTYPE=wwan\n"], expected: .mobile("wwan0")),
        .init(
            text: route("eth0", metric: 600) + route("wwan0", metric: 50, flags: "0002")
                + route("wwan0", metric: 1, flags: "0201"),
            files: ["eth0/type": "1\n", "wwan0/uevent": "DEVTYPE=wwan\n"], expected: .wired),
        .init(text: route("eth0", mask: "00FFFFFF"), files: ["eth0/type": "1\n"], expected: .none),
        .init(text: "", expected: .none),
        // A hostile name must not lead to another file or end the process.
        .init(text: route("../../etc"), expected: .none),
        .init(
            text: "eth0\n\t\t\t\neth0\t00000000\t0\tzz\t0\t0\t99999999999999999999\t0\n\u{0}\u{FFFD}", expected: .none),
    ]

    @Test("The interface of the default route determines the network", arguments: networks)
    func network(given: Interfaces) throws {
        try withRoot { root in
            try root.write("proc/net/route", text: Self.head + given.text)
            for (name, text) in given.files { try root.write("sys/class/net/" + name, text: text) }
            for (name, target) in given.links { try root.link("sys/class/net/" + name, target: target) }
            #expect(try SystemState(root: root.path).read().network == given.expected)
        }
    }

    @Test("IPv6 routes are read too, and the costlier of two default routes wins")
    func ipv6() throws {
        let zeros = String(repeating: "0", count: 32)
        let line = "\(zeros) 00 \(zeros) 00 fe800000000000000000000000000001 00000064 00000001 00000000 00450003"
        try withRoot { root in
            try root.write(
                "proc/net/ipv6_route",
                text: "\(line)    wwan0\n\(zeros) 00 \(zeros) 00 \(zeros) ffffffff 1 0 00200200 lo\n")
            try root.write("sys/class/net/wwan0/uevent", text: "DEVTYPE=wwan\n")
            try root.write("sys/class/net/eth0/type", text: "1\n")
            #expect(try SystemState(root: root.path).read().network == .mobile("wwan0"))
            try root.write("proc/net/route", text: Self.head + Self.route("eth0"))
            #expect(try SystemState(root: root.path).read().network == .mobile("wwan0"))
        }
    }

    static let powers: [([String: String], DeviceState.Power)] = [
        ([:], .mains),
        (["AC/type": "Mains\n", "AC/online": "1\n", "BAT0/type": "Battery\n", "BAT0/status": "Discharging\n"], .mains),
        (
            ["AC/type": "Mains\n", "AC/online": "0\n", "BAT0/type": "Battery\n", "BAT0/status": "Discharging\n"],
            .battery
        ),
        (["BAT0/type": "Battery\n", "BAT0/status": "Charging\n"], .mains),
        (["BAT0/type": "Battery\n", "BAT0/status": "Full\n"], .mains),
        (["BAT0/type": "Battery\n", "BAT0/status": "Not charging\n"], .battery),
        (["usb/type": "USB\n", "usb/online": "1\n", "BAT0/type": "Battery\n"], .mains),
        // The battery of a mouse, in a device without a battery.
        (["hid/type": "Battery\n", "hid/scope": "Device\n", "hid/status": "Discharging\n"], .mains),
        (
            ["hid/type": "Battery\n", "hid/scope": "Device\n", "hid/status": "Charging\n", "BAT0/type": "Battery\n"],
            .battery
        ),
        (["ups/type": "UPS\n", "ups/online": "1\n", "BAT0/type": "Battery\n"], .battery),
        (["odd/online": "1\n"], .mains),
    ]

    @Test("Online supplies, charged batteries and missing batteries count as mains power", arguments: powers)
    func power(files: [String: String], expected: DeviceState.Power) throws {
        try withRoot { root in
            for (name, text) in files { try root.write("sys/class/power_supply/" + name, text: text) }
            #expect(try SystemState(root: root.path).read().power == expected)
        }
    }

    @Test("A system without /proc or /sys leaves the device unknown", arguments: ["proc/net/route", "sys/class/x"])
    func absent(onlyFile: String) throws {
        try withRoot(isLinux: false) { root in
            try root.write(onlyFile, text: "")
            let error = #expect(throws: BackupError.self) { try SystemState(root: root.path).read() }
            #expect(error?.code == .deviceUnknown)
        }
    }

    /// Commands in a new namespace with a cable `eth9`, and the expected network.
    static let namespaces: [(String, DeviceState.Network)] = [
        ("true", .none),
        ("ip addr add 10.9.9.2/24 dev eth9", .none),
        ("ip addr add 10.9.9.2/24 dev eth9; ip route add default via 10.9.9.1", .wired),
        ("ip -6 addr add fd09::2/64 dev eth9 nodad; ip -6 route add default via fd09::1", .wired),
        ("ip addr add 10.9.9.2/24 dev eth9; ip route add unreachable default", .none),
        ("ip tuntap add tun9 mode tun; ip link set tun9 up; ip route add default dev tun9", .unknown("tun9")),
        (
            """
            ip link add br9 type bridge; ip link set eth9 master br9; ip link set br9 up
            ip addr add 10.9.9.2/24 dev br9; ip route add default via 10.9.9.1
            """, .wired
        ),
    ]

    @Test(
        "The network state of a real network namespace is read correctly",
        .enabled(if: SystemStateTests.canMakeNamespaces, "needs root, unshare and ip"), arguments: namespaces)
    func namespace(commands: String, expected: DeviceState.Network) throws {
        try withRoot { root in
            // The links of /sys lead to the devices, so the script copies files without following links.
            let script = """
                set -e; mount -t sysfs none /sys; ip link set lo up
                ip link add eth9 type veth peer name eth8; ip link set eth8 up; ip link set eth9 up
                \(commands)
                mkdir -p '\(root.path)/proc/net' '\(root.path)/sys/class/net'
                cat /proc/net/route > '\(root.path)/proc/net/route'
                cat /proc/net/ipv6_route > '\(root.path)/proc/net/ipv6_route' || true
                for path in /sys/class/net/*; do
                    name=$(basename "$path"); to='\(root.path)/sys/class/net/'$name; mkdir -p "$to"
                    for file in type uevent; do cat "$path/$file" > "$to/$file"; done
                    for lower in "$path"/lower_*; do [ -e "$lower" ] && mkdir -p "$to/$(basename "$lower")"; done; true
                done
                """
            let status = try ToolRun(
                "unshare", arguments: ["--net", "--mount", "--propagation", "private", "sh", "-c", script]
            )
            .run()
            try #require(status == 0)
            #expect(try SystemState(root: root.path).read().network == expected)
        }
    }

    static var canMakeNamespaces: Bool {
        geteuid() == 0
            && (try? runTool(
                "unshare", arguments: ["--net", "--mount", "sh", "-c", "mount -t sysfs none /sys && ip link show"]))
                == true
    }
}

/// A folder with files like those of the kernel.
private struct FakeRoot {
    let path: String

    func write(_ name: String, text: String) throws {
        let url = URL(fileURLWithPath: path).appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    func link(_ name: String, target: String) throws {
        let url = URL(fileURLWithPath: path).appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: target)
    }
}

/// - Parameter isLinux: true if the folder has the directories of every Linux system.
private func withRoot(isLinux: Bool = true, _ body: (FakeRoot) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-root-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    if isLinux {
        for name in ["proc/net", "sys/class"] {
            try FileManager.default.createDirectory(at: folder.child(name), withIntermediateDirectories: true)
        }
    }
    try body(FakeRoot(path: folder.path))
}
