import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A watcher of the signals that ask this process to end.
final class Interruption {
    static let signals = [SIGINT, SIGTERM, SIGHUP]

    // The sources are only retained, so that they live as long as this object.
    private let sources: [any DispatchSourceSignal]

    init(_ handler: @escaping @Sendable (_ signal: Int32) -> Void) {
        sources = Self.signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { handler(number) }
            source.activate()
            return source
        }
    }
}
