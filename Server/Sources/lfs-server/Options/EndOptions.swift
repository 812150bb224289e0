import ArgumentParser
import CommandLineOptions
import LFSServer
import ServiceLifecycle

/// The options of the server's shutdown.
struct EndOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The maximum duration of the shutdown. After two fifths of it, the server closes the connections that are "
                + "still in use. The default is 20s.", valueName: "time"), transform: TimeSpan.parseFinite)
    var shutdownTimeout = TimeSpan.seconds(20)

    func validate() throws {
        guard (1...3_600).contains(shutdownTimeout.seconds) else {
            throw ValidationError("--shutdown-timeout has to be from 1s to 1h.")
        }
    }

    /// The time that running requests have before their connections are closed.
    var patience: Duration { Duration.seconds(shutdownTimeout.seconds) * 2 / 5 }

    func apply(to configuration: inout ServiceGroupConfiguration) {
        let timeout = Duration.seconds(shutdownTimeout.seconds)
        configuration.maximumGracefulShutdownDuration = timeout * 4 / 5
        configuration.maximumCancellationDuration = timeout / 5
    }
}

/// A server that closes its connections some time after its shutdown has started.
struct ClosingServer<Base: Service>: Service {
    let base: Base
    let connections: Connections
    let patience: Duration
    /// The address of the server, for errors.
    let address: ListenAddress
    /// The option that sets the address, for errors.
    var option = "--listen"

    func run() async throws {
        do {
            try await connections.run(base, closingAfter: patience)
        } catch {
            throw ListenError(error, address: address.description, option: option) ?? error
        }
    }
}
