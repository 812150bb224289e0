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

/// The signals that end a run: the first asks it to stop, the second stops it at once. Nothing is lost either way. A
/// signal that the process was started to ignore stays ignored.
///
/// Without a terminal SIGHUP ends no run that has a log, but has it opened again, as programs that rotate logs expect.
///
/// A run that has not ended ten seconds after the first is stopped as well, also where no thread is left to stop it.
/// One object per process, since the process's handlers belong to it.
final class Interruption: Sendable {
    // Only held, so that it lives as long as this object.
    nonisolated(unsafe) private let reading: (any DispatchSourceRead)?

    /// - Parameters:
    ///   - onFirst: runs once, on the first signal that asks for an end.
    ///   - onStatus: runs for SIGUSR1, which asks how far it is.
    ///   - log: the log that SIGHUP opens again; nil without one.
    init(
        log: LogFile?, onFirst: @escaping @Sendable (_ signal: Int32) -> Void, onStatus: @escaping @Sendable () -> Void
    ) {
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
            switch Int32(byte) {
            case SIGUSR1: onStatus()
            case SIGHUP where SignalHandler.reopensLog.load(ordering: .relaxed): log?.reopen()
            default: onFirst(Int32(byte))
            }
        }
        reading.activate()
        self.reading = reading
        SignalHandler.reopensLog.store(log != nil && !Self.hasTerminal, ordering: .relaxed)
        // nohup ignores a hang-up, and a shell has the jobs of a script ignore Ctrl-C.
        let ends = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
        for number in ends + [SIGUSR1, SIGALRM] { SignalHandler.install(number) }
    }

    /// The exit status that the signal asks for, nil when none came.
    var exitStatus: Int32? {
        let first = SignalHandler.first.load(ordering: .relaxed)
        return first == 0 ? nil : 128 + first
    }

    /// Whether a terminal controls the process, whose end is a hang-up.
    private static var hasTerminal: Bool {
        let number = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        guard number >= 0 else { return false }
        close(number)
        return true
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
    /// Whether SIGHUP asks for a new log, and for no end.
    static let reopensLog = Atomic<Bool>(false)
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
        if number != SIGUSR1, number != SIGHUP || !reopensLog.load(ordering: .relaxed) {
            let isFirst = first.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged
            guard isFirst else { _exit(128 + number) }
            alarm(longestEnd)
        }
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(writingEnd.load(ordering: .relaxed), &byte, 1)
        errno = before
    }
}
