import ArgumentParser

/// A topic of the help, with all options of `serve`. The help of `serve` omits those that few servers need.
struct ServeOptionsTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "options", abstract: "All options of 'serve', and the limits of its connections.", usage: "",
        discussion: """
            After SIGTERM or SIGINT the server finishes running requests, and ends after
            --shutdown-timeout at the latest. SIGHUP does the same if a terminal controls
            the server. Otherwise the server reads the certificate, its key and the
            signing secrets again. It notices a new certificate without a signal as well.

            The server closes a connection that transfers less than 1 KiB per second of a
            body or reply, averaged over 30 seconds. It accepts 64 unauthenticated
            connections per address, and 256 connections per account. If all connections
            come from a proxy, use --behind-proxy and limit the addresses in the proxy.

            \(options)
            """,
        shouldDisplay: false, helpNames: [])

    /// The help of `serve` after its usage.
    private static var options: String {
        let sections = ServeCommand.helpMessage(includeHidden: true, columns: 79).split(separator: "\n\n")
        let end = sections.lastIndex { $0.hasPrefix("USAGE:") } ?? sections.startIndex
        return sections[end...].dropFirst().joined(separator: "\n\n")
    }

    func run() throws { Console.print(Self.configuration.discussion) }
}
