import ArgumentParser
import LFSServer

/// The limit of failed logins, and the proxies that name the address of a client.
struct LoginOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The address of a proxy, or a range such as 10.0.0.0/8, with --behind-proxy. The client is the last \
            address of X-Forwarded-For or Forwarded that is not a proxy. Without it, the last address of \
            X-Forwarded-For. Can be given several times.
            """, valueName: "range"))
    var trustedProxy: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            The number of failed logins per minute and address. Above it, only tokens that were valid before are \
            looked up. 0 permits any number.
            """, valueName: "count"))
    var failedLogins = 60

    func validate() throws {
        guard let wrong = trustedProxy.first(where: { AddressRange($0) == nil }) else {
            guard (0...1_000_000).contains(failedLogins) else {
                throw ValidationError("--failed-logins has to be from 0 to 1000000.")
            }
            return
        }
        throw ValidationError("--trusted-proxy \(wrong) is not an address. Write 10.0.0.1, 10.0.0.0/8 or fd00::/8.")
    }

    /// Returns the rule for the address of a client.
    func trust(isBehindProxy: Bool) -> ForwardedTrust {
        guard isBehindProxy else { return .none }
        let ranges = trustedProxy.compactMap { AddressRange($0) }
        return ranges.isEmpty ? .last : .proxies(ranges)
    }
}
