import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The signals that end a run: the first asks it to stop, the second stops it at once. Nothing is lost either way.
final class Interruption: Sendable {
    private let first = First()
    // Only held, so that they live as long as this object.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - onFirst: runs once, on the first signal that asks for an end.
    ///   - onStatus: runs for SIGUSR1, which asks how far it is.
    init(onFirst: @escaping @Sendable (_ signal: Int32) -> Void, onStatus: @escaping @Sendable () -> Void) {
        signal(SIGPIPE, SIG_IGN)
        // It tells that another program wants to write to a file that is about to be moved, and would end the process.
        signal(SIGIO, SIG_IGN)
        let first = first
        func source(_ number: Int32, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: handler)
            source.activate()
            return source
        }
        // Whoever started us with nohup wants a hang-up to be ignored.
        sources =
            [SIGINT, SIGTERM, SIGHUP].filter { $0 != SIGHUP || !Self.isIgnored($0) }.map { number in
                source(number) {
                    if first.take(number) { onFirst(number) } else { _exit(128 + number) }
                }
            } + [source(SIGUSR1, onStatus)]
    }

    /// The exit status that the signal asks for, nil when none came.
    var exitStatus: Int32? { first.signal.map { 128 + $0 } }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        // SIG_IGN is the number 1 in place of a function.
        return unsafeBitCast(handler, to: Int.self) == 1
    }

    /// The first signal that came.
    private final class First: Sendable {
        private let received = Mutex<Int32?>(nil)

        var signal: Int32? { received.withLock { $0 } }

        /// Whether none came before.
        func take(_ number: Int32) -> Bool {
            received.withLock { received in
                defer { received = received ?? number }
                return received == nil
            }
        }
    }
}
