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
///
/// A run that has not ended ten seconds after the first is stopped as well, also where no thread is left to stop it.
/// One object per process, since the process's handlers belong to it.
final class Interruption: Sendable {
    // Only held, so that it lives as long as this object.
    nonisolated(unsafe) private let reading: (any DispatchSourceRead)?

    /// - Parameters:
    ///   - onFirst: runs once, on the first signal that asks for an end.
    ///   - onStatus: runs for SIGUSR1, which asks how far it is.
    init(onFirst: @escaping @Sendable (_ signal: Int32) -> Void, onStatus: @escaping @Sendable () -> Void) {
        signal(SIGPIPE, SIG_IGN)
        // It tells that another program wants to write to a file that is about to be moved, and would end the process.
        signal(SIGIO, SIG_IGN)
        guard let end = SignalHandler.openPipe() else {
            // Signals end the process at once then.
            reading = nil
            return
        }
        let reading = DispatchSource.makeReadSource(fileDescriptor: end, queue: .global())
        reading.setEventHandler {
            var byte: UInt8 = 0
            guard read(end, &byte, 1) == 1 else { return }
            if Int32(byte) == SIGUSR1 { onStatus() } else { onFirst(Int32(byte)) }
        }
        reading.activate()
        self.reading = reading
        // Whoever started us with nohup wants a hang-up to be ignored.
        let ends = [SIGINT, SIGTERM, SIGHUP].filter { $0 != SIGHUP || !Self.isIgnored($0) }
        for number in ends + [SIGUSR1, SIGALRM] { SignalHandler.install(number) }
    }

    /// The exit status that the signal asks for, nil when none came.
    var exitStatus: Int32? {
        let first = SignalHandler.first.load(ordering: .relaxed)
        return first == 0 ? nil : 128 + first
    }

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
}

/// What a signal does at once, on whatever thread it comes. Only calls of signal-safety(7) are allowed here.
private enum SignalHandler {
    /// How long a run may take to end after the first signal, in seconds. systemd kills after 90.
    static let longestEnd: UInt32 = 10
    /// The first signal that asked for an end; 0 for none.
    static let first = Atomic<Int32>(0)
    /// The end of a pipe that takes each signal as a byte. It is never closed, because a signal may come at any time.
    private static let writingEnd = Atomic<Int32>(-1)

    /// Opens the pipe. Returns the end to read from; nil when the system has no descriptors left.
    static func openPipe() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler must not wait for a reader.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        writingEnd.store(ends[1], ordering: .relaxed)
        return ends[0]
    }

    static func install(_ number: Int32) {
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = { SignalHandler.take($0) }
        #else
        action.__sigaction_handler.sa_handler = { SignalHandler.take($0) }
        #endif
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }

    private static func take(_ number: Int32) {
        let before = errno
        if number == SIGALRM { _exit(128 + first.load(ordering: .relaxed)) }
        if number != SIGUSR1 {
            let isFirst = first.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged
            guard isFirst else { _exit(128 + number) }
            alarm(longestEnd)
        }
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(writingEnd.load(ordering: .relaxed), &byte, 1)
        errno = before
    }
}
