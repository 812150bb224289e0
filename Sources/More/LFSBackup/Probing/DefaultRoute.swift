/// The network interfaces of the default routes.
enum DefaultRoute {
    /// Returns the interfaces of the best default routes of IPv4 and IPv6: none, one or two.
    static func interfaces(_ root: SystemRoot) throws -> [String] {
        let routes = [best(try root.text("proc/net/route"), ipv4), best(try root.text("proc/net/ipv6_route"), ipv6)]
        return routes.compactMap { $0 }.reduce(into: []) { names, name in
            if !names.contains(name) { names.append(name) }
        }
    }

    private struct Route {
        let interface: String
        let metric: UInt32
        let flags: UInt32

        /// True if the route is up and does not reject packets (RTF_UP and RTF_REJECT of linux/route.h).
        var isUsable: Bool {
            flags & 1 != 0 && flags & 0x200 == 0 && NetworkInterface.isName(interface) && interface != "lo"
        }
    }

    private static func best(_ text: String?, _ parse: ([Substring]) -> Route?) -> String? {
        (text ?? "").split(whereSeparator: \.isNewline)
            .compactMap { parse($0.split(whereSeparator: \.isWhitespace)) }.filter(\.isUsable)
            .min { $0.metric < $1.metric }?.interface
    }

    /// Parses `Iface Destination Gateway Flags RefCnt Use Metric Mask …`. All numbers except the metric are
    /// hexadecimal.
    private static func ipv4(_ fields: [Substring]) -> Route? {
        guard fields.count >= 8, UInt32(fields[1], radix: 16) == 0, UInt32(fields[7], radix: 16) == 0,
            let flags = UInt32(fields[3], radix: 16), let metric = UInt32(fields[6])
        else { return nil }
        return Route(interface: String(fields[0]), metric: metric, flags: flags)
    }

    /// Parses `destination length source length gateway metric references use flags interface`. All numbers are
    /// hexadecimal.
    private static func ipv6(_ fields: [Substring]) -> Route? {
        guard fields.count >= 10, fields[0].count == 32, fields[0].allSatisfy({ $0 == "0" }),
            UInt32(fields[1], radix: 16) == 0, let metric = UInt32(fields[5], radix: 16),
            let flags = UInt32(fields[8], radix: 16)
        else { return nil }
        return Route(interface: String(fields[9]), metric: metric, flags: flags)
    }
}
