/// The kind of network that an interface belongs to.
enum NetworkInterface {
    /// Returns true if it is a valid interface name, because it becomes part of a path.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count < 16 && name != "." && name != ".." && !name.contains("/")
    }

    /// Returns the kind of an interface. A bridge, a bond or a VLAN has the kind of its most costly lower interface.
    static func kind(_ name: String, root: SystemRoot) throws -> DeviceState.Network {
        try kind(name, root: root, depth: 4)
    }

    private static func kind(_ name: String, root: SystemRoot, depth: Int) throws -> DeviceState.Network {
        let folder = "sys/class/net/\(name)"
        let event = try root.text("\(folder)/uevent") ?? ""
        let kind = event.split(whereSeparator: \.isNewline).first { $0.hasPrefix("DEVTYPE=") }?.dropFirst(8)
        if kind == "wwan" { return .mobile(name) }
        if kind == "wlan" || root.exists("\(folder)/wireless") || root.exists("\(folder)/phy80211") { return .wifi }
        if let driver = root.linkTarget("\(folder)/device/driver"), mobileDrivers.contains(driver) {
            return .mobile(name)
        }
        let lower = try root.names(folder).filter { $0.hasPrefix("lower_") }.map { String($0.dropFirst(6)) }
        if !lower.isEmpty {
            guard depth > 0 else { return .unknown(name) }
            let kinds = try lower.filter(isName).map { try self.kind($0, root: root, depth: depth - 1) }
            return kinds.first { $0 != .wired && $0 != .wifi } ?? kinds.first { $0 == .wifi } ?? kinds.first
                ?? .unknown(name)
        }
        // ARPHRD_ETHER and ARPHRD_RAWIP of linux/if_arp.h. Modems without Ethernet use the latter.
        switch try root.line("\(folder)/type") {
        case "1": return .wired
        case "519": return .mobile(name)
        default: return .unknown(name)
        }
    }

    /// Drivers of modems, and of phones that share their network over USB as Ethernet.
    private static let mobileDrivers: Set = [
        "cdc_mbim", "huawei_cdc_ncm", "ipheth", "qmi_wwan", "rndis_host", "sierra_net", "hso",
    ]
}
