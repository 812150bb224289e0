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

/// The handler of the signals that end a run. The first signal asks the run to stop, the second one stops it at once.
/// No data is lost either way. A signal that was ignored when the process started stays ignored.
///
/// Without a terminal, SIGHUP does not end a run that has a log. It reopens the log, as programs that rotate logs
/// expect.
///
/// A run that has not ended ten seconds after the first signal is also stopped, even if no thread is available to stop
/// it. There is one object per process, since the signal handlers belong to the process.
final class Interruption: Sendable {
    // Stored only to keep it alive as long as this object.
    nonisolated(unsafe) private let reading: (any DispatchSourceRead)?

    /// - Parameters:
    ///   - onFirst: runs once, on the first signal that asks for an end.
    ///   - onStatus: runs on SIGUSR1, which asks for progress.
    ///   - log: the log that SIGHUP reopens. Nil without a log.
    init(
        log: LogFile?, onFirst: @escaping @Sendable (_ signal: Int32) -> Void, onStatus: @escaping @Sendable () -> Void
    ) {
        signal(SIGPIPE, SIG_IGN)
        // SIGIO reports that another program wants to write to a file that is about to be moved. It would end the
        // process.
        signal(SIGIO, SIG_IGN)
        guard let end = SignalHandler.openPipe() else {
            // Without a pipe, signals end the process at once.
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
        // nohup ignores SIGHUP, and a shell lets the background jobs of a script ignore Ctrl-C.
        let ends = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
        for number in ends + [SIGUSR1, SIGALRM] { SignalHandler.install(number) }
    }

    /// The exit status for the first signal. Nil before a signal.
    var exitStatus: Int32? {
        let first = SignalHandler.first.load(ordering: .relaxed)
        return first == 0 ? nil : 128 + first
    }

    /// True if a terminal controls the process. Its end causes a SIGHUP.
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

/// The signal handler, which runs on any thread. It may only use the functions of signal-safety(7).
private enum SignalHandler {
    /// The maximum time to the end of a run after the first signal, in seconds. systemd kills after 90.
    static let longestEnd: UInt32 = 10
    /// The first signal that asked for an end. 0 for none.
    static let first = Atomic<Int32>(0)
    /// True if SIGHUP reopens the log instead of ending the run.
    static let reopensLog = Atomic<Bool>(false)
    /// The writing end of a pipe for signals, one byte each. It is never closed, because a signal may arrive at any
    /// time.
    private static let writingEnd = Atomic<Int32>(-1)

    /// Opens the pipe. Returns the end to read from, or nil if the system has no descriptors left.
    static func openPipe() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // The signal handler must not wait for the reader.
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
